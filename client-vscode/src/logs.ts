// The two output channels: what happens, and, where asked for, the messages between editor and server.
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import * as vscode from "vscode";
import { readConfig } from "./config";
import { lastWords } from "./lastwords";

/** Writes a line of the server's stderr at the level that it names; lines without one continue the line before. */
export class ServerLog {
  /** Resolves when all that was written has been read. */
  readonly whole: Promise<void>;
  private level = "INFO";
  private readonly tail: string[] = [];

  constructor(
    private readonly channel: vscode.LogOutputChannel,
    input: Readable,
  ) {
    const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
    lines.on("line", (line) => this.write(line));
    this.whole = new Promise((resolve) => lines.once("close", resolve));
  }

  /** What tells most about the end of the server, if it said anything of the kind. */
  lastWords(): string | undefined {
    return lastWords(this.tail);
  }

  private write(line: string): void {
    if (line.trim() === "") {
      return;
    }
    this.tail.push(line.trim());
    this.tail.splice(0, Math.max(0, this.tail.length - 40));
    // The channel adds time and level itself.
    const logged = /^[\d-]+[ T][\d:.,]+ (DEBUG|INFO|WARNING|ERROR|CRITICAL) (.*)$/.exec(line);
    this.level = logged?.[1] ?? this.level;
    const text = logged?.[2] ?? line;
    switch (this.level) {
      case "DEBUG":
        return this.channel.debug(text);
      case "WARNING":
        return this.channel.warn(text);
      case "ERROR":
      case "CRITICAL":
        return this.channel.error(text);
      default:
        return this.channel.info(text);
    }
  }
}

/**
 * The trace channel as the language client wants it: its level follows the setting `headway.trace.server`, not the
 * channel's own, which a person would have to raise by a second command.
 */
export class TraceChannel implements vscode.LogOutputChannel {
  private readonly channel = vscode.window.createOutputChannel("Headway Trace", "log");
  private readonly levels = new vscode.EventEmitter<vscode.LogLevel>();
  readonly onDidChangeLogLevel = this.levels.event;
  private readonly watcher = vscode.workspace.onDidChangeConfiguration((event) => {
    if (event.affectsConfiguration("headway.trace")) {
      this.levels.fire(this.logLevel);
    }
  });

  get name(): string {
    return this.channel.name;
  }

  get logLevel(): vscode.LogLevel {
    return readConfig().trace === "off" ? vscode.LogLevel.Off : vscode.LogLevel.Trace;
  }

  trace(message: string): void {
    this.appendLine(message);
  }
  debug(message: string): void {
    this.appendLine(message);
  }
  info(message: string): void {
    this.appendLine(message);
  }
  warn(message: string): void {
    this.appendLine(message);
  }
  error(error: string | Error): void {
    this.appendLine(error instanceof Error ? (error.stack ?? error.message) : error);
  }
  append(value: string): void {
    this.channel.append(value);
  }
  appendLine(value: string): void {
    this.channel.appendLine(`${new Date().toISOString()} ${value}`);
  }
  replace(value: string): void {
    this.channel.replace(value);
  }
  clear(): void {
    this.channel.clear();
  }
  show(): void {
    this.channel.show(true);
  }
  hide(): void {
    this.channel.hide();
  }
  dispose(): void {
    vscode.Disposable.from(this.watcher, this.levels, this.channel).dispose();
  }
}
