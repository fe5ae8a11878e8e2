export interface PostgresServer {
  url: string
  stop: () => void
}

/** A standby can be halted and started again. */
export interface PostgresStandby extends PostgresServer {
  start: () => void
  halt: () => void
}

export function startPostgres(moreSettings?: readonly string[]): Promise<PostgresServer | null>
export function startStandby(primaryUrl: string): Promise<PostgresStandby>
export function findFreePort(): Promise<number>
export function installPackage(name: string, title: string): Promise<boolean>
export function findPostgres(): { binaries: string; uid?: number; gid?: number } | null
