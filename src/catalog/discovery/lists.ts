import type { Db } from '../../platform/db/db.ts'
import type { ModelLists } from './listed-model.ts'
import { parseList, readLists, readListsVersion } from './store.ts'

/** The lists of models that providers have themselves, in memory on every node. */
export class DiscoveredModels {
  version = 0
  lists: ModelLists = new Map()

  static async open(db: Db): Promise<DiscoveredModels> {
    const discovered = new DiscoveredModels()
    await discovered.poll(db)
    return discovered
  }

  /** Loads what any node has stored. Returns whether there was anything new. */
  async poll(db: Db, knownVersion?: number): Promise<boolean> {
    if ((knownVersion ?? (await readListsVersion(db))) === this.version) return false
    const { version, rows } = await readLists(db)
    if (version <= this.version) return false
    this.version = version
    this.lists = new Map(rows.map((row) => [row.provider, parseList(row)]))
    return true
  }
}
