import { responsesChannel } from '../cluster/channels.ts'
import type { Cluster } from '../cluster/cluster.ts'
import type { RevisionReader } from '../platform/concurrency/revision-reader.ts'
import { type Db, listenToAccountChanges, listenToChanges, readVersions } from '../platform/db/db.ts'
import type { Gateway } from './gateway.ts'
import { pollDiscoveredModels, pollOverrides } from './reload.ts'

// Messages that tell other nodes to look at the database at once. Every node also looks there every second, so a lost
// message only delays a change.

const accountsChannel = 'accounts'
const versionsChannel = 'versions'

/** Interval of messages during many changes. */
const messageIntervalMs = 20

/** A change of keys, limits, policies or presets on one node is in effect on the others at their next request. */
export function shareRevisions(db: Db, cluster: Cluster, revisions: RevisionReader): void {
  listenToAccountChanges(db, createNotifier(cluster, accountsChannel))
  cluster.subscribe(accountsChannel, () => revisions.invalidate())
  cluster.onReconnect(() => revisions.invalidate())
}

/** Shares changes of what nodes load into memory as a whole. */
export function shareChanges(gateway: Gateway): void {
  const { cluster, db, log } = gateway
  if (cluster.status.kind === 'memory') return
  const poll = () =>
    void pollVersions(gateway).catch((err: unknown) => log.warn({ err }, 'changes of another node not read'))
  // The versions are in this table.
  listenToChanges(db, ['instance'], createNotifier(cluster, versionsChannel))
  cluster.subscribe(versionsChannel, poll)
  cluster.onReconnect(poll)
  // A client has rejected the stored reply on another node.
  cluster.subscribe(responsesChannel, (hash) => gateway.responseCache.delete(hash))
}

/** One read for everything that nodes load when it has changed. */
export async function pollVersions(gateway: Gateway): Promise<void> {
  const versions = await readVersions(gateway.db)
  await pollOverrides(gateway, versions.get('catalogue_version'))
  await pollDiscoveredModels(gateway, versions.get('model_lists_version'))
  await gateway.benchmarks.poll(gateway.db, versions.get('benchmarks_version'))
}

/** The first change of several is announced at once, the others together. */
function createNotifier(cluster: Cluster, channel: string): () => void {
  let timer: ReturnType<typeof setTimeout> | null = null
  let isWaiting = false
  const publish = () => {
    cluster.publish(channel, '')
    isWaiting = false
    timer = setTimeout(() => {
      timer = null
      if (isWaiting) publish()
    }, messageIntervalMs).unref()
  }
  return () => {
    if (timer) isWaiting = true
    else publish()
  }
}
