// The bundler gathers style sheets into one file; the code gets nothing of them.
declare module "*.css";
