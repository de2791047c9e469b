// Packages that bring no types: just what the project uses of them.

declare module 'fs-native-extensions' {
  export function tryLock (fd: number): boolean
}

declare module 'cli-progress' {
  export class SingleBar {
    constructor (options: object, preset?: object)
    start (total: number, value: number, payload?: object): void
    update (value: number, payload?: object): void
    stop (): void
  }
  export const Presets: { shades_classic: object }
}
