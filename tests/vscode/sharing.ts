// Headway beside other extensions for Python: stand-ins with their names, as only those decide.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { eventually } from "./editor.ts";
import { prepared, scenario, TOP, UNHURRIED, UP, VSIX } from "./scenario.ts";
import { largeWorkspace, write } from "./workspace.ts";

const PACK = `
import json, pathlib, sys, zipfile
file, publisher, name, more, program, folder, place = sys.argv[1:]
about = {"publisher": publisher, "name": name, "version": "1.0.0", "engines": {"vscode": "*"}, **json.loads(more)}
identity = f'<Identity Language="en-US" Id="{name}" Version="1.0.0" Publisher="{publisher}"/>'
manifest = (
    '<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">'
    f'<Metadata>{identity}<DisplayName>{name}</DisplayName></Metadata>'
    '<Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation><Dependencies/>'
    '<Assets><Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json"/></Assets></PackageManifest>'
)
with zipfile.ZipFile(file, "w") as package:
    package.writestr("extension/package.json", json.dumps(about))
    package.writestr("extension.vsixmanifest", manifest)
    package.writestr("extension/main.js", program)
    for inner in pathlib.Path(folder).rglob("*.*") if folder else ():
        if inner.is_file() and "__pycache__" not in inner.parts:
            package.write(inner, f"extension/{place}/{inner.relative_to(folder)}")
`;

interface Contents {
  /** More of its package.json. */
  readonly about: Readonly<Record<string, unknown>>;
  readonly program: string;
  readonly folder: string;
  /** Where the folder's files stand in it. */
  readonly place: string;
}

/** An extension with this name, and nothing in it unless something is given. */
export function standIn(publisher: string, name: string, contents?: Contents): string {
  const file = join(TOP, `${publisher}.${name}.vsix`);
  const { about, program, folder, place } = contents ?? { about: {}, program: "", folder: "", place: "" };
  execFileSync("python3", ["-I", "-c", PACK, file, publisher, name, JSON.stringify(about), program, folder, place]);
  return file;
}

export async function besideOthers(): Promise<void> {
  const workspace = join(TOP, "shared");
  largeWorkspace(workspace, 3);
  write(workspace, "main.py", "from shop.orders import Order\n\n\nOrder.\n");
  const vsix = [VSIX, standIn("meta", "pyrefly"), standIn("charliermarsh", "ruff")];
  await scenario("beside others", { workspace, vsix, settings: UNHURRIED, ...prepared() }, async (now) => {
    await now.check("what others offer is left to them, which is said once", async (editor) => {
      await editor.status(UP, 90_000);
      const text = await editor.notification("come from Pyrefly here");
      assert.ok(text.includes("Ruff checks and formats Python here"), text);
      await now.shot("beside-others");
      await editor.openFile("main.py");
      await editor.goTo(4, 7);
      await editor.press("Control+Space");
      await eventually(async () => (await editor.page.locator(".suggest-widget.visible .message").allInnerTexts()).join().includes("No suggestions"), "an empty list");
      await editor.press("Escape");
    });
    await now.check("a person can have both, at once", async (editor) => {
      await editor.command("Notifications: Show Notifications"); // where the toast has gone by now
      await editor.page.locator(".notification-list-item:visible", { hasText: "come from Pyrefly here" }).getByText("Use Headway's Too").click();
      const ask = async (): Promise<string[]> => {
        await editor.focusEditor();
        await editor.goTo(4, 7);
        await editor.press("Escape");
        await editor.press("Control+Space");
        return editor.suggestions("cancel_with_refund", 2000);
      };
      await eventually(ask, "Headway's members", 60_000);
      await editor.press("Escape");
    });
    await now.check("after a reload it is not said again", async (editor) => {
      await editor.reload();
      await editor.status(UP, 60_000);
      assert.deepEqual(await editor.notifications(), []);
    });
  });
}
