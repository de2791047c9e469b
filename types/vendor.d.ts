// Packages that bring no types: just what the project uses of them.

declare module 'obz' {
  interface Observable<T> {
    (listener: (value: T) => unknown, immediately?: boolean): () => void
    set (value: T): Observable<T>
    once (listener: (value: T) => unknown, immediately?: boolean): () => void
    value: T | undefined
  }
  function Obv<T = number> (): Observable<T>
  export = Obv
}

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
