import { createHash, randomBytes } from 'node:crypto'
import type { ContainerEnvironment } from './environment.ts'

/** The identity of a request without a container of its own. */
export interface ContainerOrigin {
  /** The session of the client, if it named one. */
  sessionKey?: string | undefined
  generationId: string
}

const sessionTail = 20
const restartSuffix = /-r[0-9a-f]{6}$/
const maxIdLength = 40

/** The id without the suffix of a restart. */
export function deriveContainerId(environment: ContainerEnvironment, origin: ContainerOrigin): string {
  if (environment.type === 'container_reference') return environment.container_id
  if (origin.sessionKey)
    return `sess_${origin.sessionKey.replace(/[^A-Za-z0-9_-]/g, '_').slice(-sessionTail)}`
  return `gen_${createHash('sha256').update(origin.generationId).digest('hex').slice(0, 24)}`
}

export function newRestartNonce(): string {
  return randomBytes(3).toString('hex')
}

/** A container that was started again with another network policy has another id. Ids at the maximum length keep theirs. */
export function formatContainerId(id: string, nonce: string | null): string {
  const restarted = `${id}-r${nonce}`
  return nonce === null || restarted.length > maxIdLength ? id : restarted
}

/** The id before any restart; null if this one has no suffix. */
export function stripRestart(id: string): string | null {
  return restartSuffix.test(id) ? id.replace(restartSuffix, '') : null
}

const fileIdPrefix = 'cfile_'

export function toContainerFileId(path: string): string {
  return fileIdPrefix + Buffer.from(path).toString('base64url')
}

/** The path below the home; null for anything that is not the id of a possible file. */
export function parseContainerFileId(id: string): string | null {
  if (!id.startsWith(fileIdPrefix)) return null
  const path = Buffer.from(id.slice(fileIdPrefix.length), 'base64url').toString()
  const isRelative = path.split('/').every((name) => name !== '' && name !== '.' && name !== '..')
  return isRelative && !path.includes('\0') && toContainerFileId(path) === id ? path : null
}
