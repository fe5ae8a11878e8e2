import type { Gateway } from '../../gateway/gateway.ts'
import type { ImportPlan } from './import-plan.ts'
import { Accounts } from './models/accounts.ts'
import type { DeploymentContext } from './models/deployment.ts'
import { KnownModels } from './models/known-models.ts'
import type { TableOrders } from './postgres-tables.ts'
import type { ImportDocument, Variables } from './source.ts'

/** Another gateway, and how what it has is read. */
export interface Peer {
  /** In commands and in the API, such as `new-api`. */
  name: string
  /** What it calls itself. */
  title: string
  /** What is read, for people. */
  reads: string
  /** The tables to read from a database, each with the columns in whose order. */
  tables: TableOrders
  /** The secret by which it encrypts what it stores, where it can be read with it. */
  secret?: { flag: string; description: string }
  /** Whether a document is of this gateway. */
  recognizes: (document: ImportDocument) => boolean
  translate: (documents: readonly ImportDocument[], context: PeerContext) => ImportPlan
}

export interface PeerContext {
  /** Milliseconds. */
  now: number
  /** Variables that its configuration may refer to. */
  variables: Variables
  /** The value of `secret`. */
  secret: string | undefined
  createModels: (author: string, variables: Variables) => DeploymentContext
}

export function createPeerContext(
  gateway: Gateway,
  given: Pick<PeerContext, 'variables' | 'secret'>,
): PeerContext {
  return {
    ...given,
    now: gateway.clock.now(),
    createModels: (author, variables) => ({
      accounts: new Accounts(gateway.catalog.providers, variables),
      models: new KnownModels(gateway),
      author,
    }),
  }
}
