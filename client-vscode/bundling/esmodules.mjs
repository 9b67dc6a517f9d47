// The packages of the language client are TypeScript's CommonJS, whose parts refer to each other by properties that nothing
// can shorten or leave out. As ES modules the bundler does both. Only what the compiler writes in its fixed form is rewritten;
// a module with anything else in it stays as it is, which costs size and nothing more.
import { readFile } from "node:fs/promises";

const PACKAGES = ["vscode-languageclient", "vscode-languageserver-protocol", "vscode-languageserver-types", "vscode-jsonrpc"];

/** A plugin of esbuild; `left` is told of each module that stays CommonJS. */
export function esModules(left = () => undefined) {
  return {
    name: "es-modules",
    setup: (build) =>
      build.onLoad({ filter: new RegExp(`[\\\\/]node_modules[\\\\/](?:${PACKAGES.join("|")})[\\\\/]lib[\\\\/].*\\.js$`) }, async ({ path }) => {
        const contents = asEsModule(await readFile(path, "utf8"));
        if (contents === undefined) {
          left(path);
        }
        return contents === undefined ? undefined : { contents, loader: "js" };
      }),
  };
}

/** The same module with `import` and `export`; undefined where it has a part that is not in the compiler's fixed form. */
export function asEsModule(text) {
  const pure = withPureNamespaces(text);
  const module = pure.includes(MARK) ? withImports(pure) : pure;
  return /\bexports\b|\brequire\(|\b__(?:importStar|exportStar|importDefault)\b/.test(withoutComments(module)) ? undefined : module;
}

const MARK = 'Object.defineProperty(exports, "__esModule", { value: true });\n';
const RE_EXPORT = /^Object\.defineProperty\(exports, "(\w+)", \{ enumerable: true, get: function \(\) \{ return (\w+)\.(\w+); \} \}\);$/gm;

function withImports(text) {
  const from = new Map([...text.matchAll(/^(?:const|var) (\w+) = require\("([^"]+)"\);$/gm)].map(([, name, module]) => [name, module]));
  return (
    text
      .replace(/^"use strict";\n/, "")
      // The compiler's helpers, each up to the next line that ends one at the margin.
      .replace(/^var __\w+ = \(this && this\.__\w+\) \|\| [\s\S]*?^\}.*;\n/gm, "")
      .replace(MARK, "")
      .replace(/^(?:exports\.\w+ = )+void 0;\n/gm, "")
      .replace(/^(?:const|var) (\w+) = (?:__importStar|__importDefault)\(require\("([^"]+)"\)\);$/gm, 'import * as $1 from "$2";')
      .replace(/^(?:const|var) (\w+_\d+) = require\("([^"]+)"\);$/gm, 'import * as $1 from "$2";')
      .replace(/^const (\w+) = require\("([^"]+)"\);$/gm, 'import $1 from "$2";')
      .replace(/^__exportStar\(require\("([^"]+)"\), exports\);$/gm, 'export * from "$1";')
      .replace(RE_EXPORT, (whole, name, module, inner) => (from.has(module) ? `export { ${inner} as ${name} } from "${from.get(module)}";` : whole))
      .replace(/^exports\.default = (\w+);$/gm, "export default $1;")
      .replace(/^exports\.(\w+) = \1;$/gm, "export { $1 };")
      .replace(/^exports\.(\w+) = /gm, "export const $1 = ")
      .replace(/(?<=[[(\s!.]|\.\.\.)exports\.(\w+)(?=[\s.,;)\]])(?! = )/g, "$1")
  );
}

/** Namespaces and enumerations as values that are left out where nobody asks for them. */
function withPureNamespaces(text) {
  const exported = new Set();
  return (
    text
      .replace(
        /^(export )?var (\w+);\n\(function \(\2\) \{\n([\s\S]*?)^\}\)\(\2 \|\| \((exports\.\2 = )?\2 = \{\}\)\);$/gm,
        (_whole, declared, name, body, assigned) => {
          const shown = declared !== undefined || assigned !== undefined;
          exported.add(shown ? name : "");
          return `${shown ? "export " : ""}var ${name} = /* @__PURE__ */ ((${name}) => {\n${body}return ${name};\n})({});`;
        },
      )
      // One that adds to a class, a function or a namespace of the same name.
      .replace(
        /^\}\)\((\w+) \|\| \(exports\.\1 = \1 = \{\}\)\);$/gm,
        (_whole, name) => `})(${name});${exported.has(name) ? "" : `\nexport { ${name} };`}`,
      )
  );
}

function withoutComments(text) {
  return text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
}

/**
 * A bundle whose parts all use one object of the editor's. The bundler copies it, with its hundreds of properties, for each
 * file that imports it, which takes most of the time that loading the bundle takes.
 */
export function withOneEditor(bundle) {
  const beginning = '"use strict";';
  const imports = /(?<![\w$])(?:[\w$]+\(require\("vscode"\)\)|require\("vscode"\))/g;
  if (!bundle.startsWith(beginning)) {
    throw new Error("the bundle does not begin as expected");
  }
  return `${beginning}var sharedEditor=require("vscode");${bundle.slice(beginning.length).replace(imports, "sharedEditor")}`;
}
