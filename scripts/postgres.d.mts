export function findFreePort(): Promise<number>
export function installPackage(name: string, title: string): boolean
export function findPostgres(): { binaries: string; uid?: number; gid?: number } | null
