import type { CatalogOverrides } from '../../catalog/overrides.ts'
import { responsesChannel } from '../../cluster/channels.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { ByteCacheEntry } from '../../platform/concurrency/byte-cache.ts'
import { sha256 } from '../../platform/crypto/crypto.ts'
import { type LoggedRequest, logOf } from '../../platform/logging/request-log.ts'

/** Longer replies are stored on the node alone: to read one could take longer than an operation may. */
const maxSharedBytes = 512 * 1024

/** `<time of storage> <end> <reply>`. */
const entryPattern = /^(\d+) (\d+) (.*)$/s

/** Finds a reply that another node stored. One that cannot be decrypted is a miss. */
export async function findShared(
  gateway: Gateway,
  request: LoggedRequest,
  hash: string,
): Promise<ByteCacheEntry | undefined> {
  const { cluster, vault, clock } = gateway
  const name = nameOf(gateway, hash)
  const encrypted = await cluster.get(name)
  if (encrypted === null) return undefined
  try {
    const [, at, until, reply = ''] = entryPattern.exec(vault.decrypt(encrypted, name)) ?? []
    return Number(until) > clock.now()
      ? { bytes: Buffer.from(reply), at: Number(at), until: Number(until) }
      : undefined
  } catch (err) {
    logOf(gateway, request).warn({ err }, 'stored reply of another node ignored')
    return undefined
  }
}

/** Encrypted, as prompts and replies are in the database. */
export function storeShared(gateway: Gateway, hash: string, { bytes, at, until }: ByteCacheEntry): void {
  if (bytes.length > maxSharedBytes) return
  const name = nameOf(gateway, hash)
  const encrypted = gateway.vault.encrypt(`${at} ${until} ${bytes}`, name)
  void gateway.cluster.set(name, encrypted, until - at)
}

export function deleteShared(gateway: Gateway, hash: string): void {
  void gateway.cluster.delete(nameOf(gateway, hash))
  gateway.cluster.publish(responsesChannel, hash)
}

const catalogHashes = new WeakMap<CatalogOverrides, string>()

function nameOf(gateway: Gateway, hash: string): string {
  return `response ${hashCatalog(gateway)} ${hash}`
}

/** Replies of another catalog may come from providers whose data policy has changed: they have other names. */
export function hashCatalog({ overrides }: Gateway): string {
  const { providers, models } = overrides.declared
  const catalogHash = catalogHashes.get(overrides) ?? sha256(JSON.stringify([providers, models]))
  catalogHashes.set(overrides, catalogHash)
  return catalogHash
}
