export function findFreePort(): Promise<number>
export function installPackage(name: string, title: string): boolean
