import { bifrost } from './bifrost/peer.ts'
import { cloudflare } from './cloudflare/peer.ts'
import { helicone } from './helicone/peer.ts'
import { keyFile } from './key-file/peer.ts'
import { litellm } from './litellm/peer.ts'
import { newApi } from './new-api/peer.ts'
import { oneApi } from './one-api/peer.ts'
import { openrouter } from './openrouter/peer.ts'
import type { Peer } from './peer.ts'
import { portkey } from './portkey/peer.ts'
import type { TableOrders } from './postgres-tables.ts'
import { type ImportDocument, SourceError } from './source.ts'

/** In the order in which documents are compared with them. */
export const peers: readonly Peer[] = [
  litellm,
  newApi,
  oneApi,
  bifrost,
  openrouter,
  portkey,
  cloudflare,
  helicone,
  keyFile,
]

export const peerNames = peers.map(({ name }) => name)

/** The tables of all of them, for a file whose origin is not known yet. */
export const knownTables: TableOrders = Object.assign({}, ...peers.map(({ tables }) => tables)) as TableOrders

/** The gateway that documents are of. */
export function detectPeer(documents: readonly ImportDocument[]): Peer {
  const found = peers.find(({ recognizes }) => documents.some(recognizes))
  if (found) return found
  throw new SourceError(
    `The origin of ${documents.map(({ name }) => name).join(', ')} is not recognized: name it.`,
  )
}
