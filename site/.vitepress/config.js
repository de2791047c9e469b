// VitePress looks for its files here; the linter does not look into folders whose names start with a dot.
export { default } from '../config.js'
