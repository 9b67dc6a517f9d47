import type { Plugin } from "esbuild";

export function esModules(left?: (path: string) => void): Plugin;
export function asEsModule(text: string): string | undefined;
export function withOneEditor(bundle: string): string;
