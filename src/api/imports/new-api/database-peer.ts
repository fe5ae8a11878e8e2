import type { ImportPlan } from '../import-plan.ts'
import { groupDeployments, toCatalogPlan } from '../models/model-groups.ts'
import type { Peer, PeerContext } from '../peer.ts'
import { type ImportDocument, SourceError } from '../source.ts'
import { translateAccounts } from './accounts.ts'
import { listGroupRatios, readChannels } from './channels.ts'
import { readDatabase, tableOrders } from './rows.ts'
import type { ChannelVendor } from './vendors.ts'

interface DatabasePeer extends Pick<Peer, 'name' | 'title'> {
  vendors: Readonly<Record<number, ChannelVendor>>
  /** A column of `tokens` that only this one has. */
  column: string
}

/** new-api, and one-api, from which it began: their tables differ in a few columns and in the types of channels. */
export function createDatabasePeer({ name, title, vendors, column }: DatabasePeer): Peer {
  return {
    name,
    title,
    reads: `channels, groups, users and tokens from the database of ${title}: a SQLite file, a dump, or PostgreSQL`,
    tables: tableOrders,
    recognizes: ({ tables }) => {
      const [token] = tables.get('tokens') ?? []
      return tables.has('channels') && token !== undefined && column in token
    },
    translate: (documents, context) => translateDatabase(documents, context, name, vendors),
  }
}

function translateDatabase(
  documents: readonly ImportDocument[],
  context: PeerContext,
  author: string,
  vendors: Readonly<Record<number, ChannelVendor>>,
): ImportPlan {
  const [document, second] = documents
  if (!document || second) throw new SourceError('One database is read at a time.')
  if (!document.tables.has('channels') && !document.tables.has('tokens'))
    throw new SourceError(`${document.name} has neither channels nor tokens.`)
  const database = readDatabase(document.tables)
  const models = context.createModels(author, context.variables)
  const channels = readChannels(database, vendors, models)
  const groups = groupDeployments(channels.deployments, models)
  const accounts = translateAccounts(database, channels.modelsOf, context.now)
  return {
    catalog: toCatalogPlan(models, groups),
    accounts: accounts.accounts,
    skipped: [...channels.skipped, ...groups.skipped, ...accounts.skipped, ...listGroupRatios(database)],
  }
}
