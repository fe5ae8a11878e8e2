import type { Db } from '../../platform/db/db.ts'
import { runInSlices } from '../../platform/time/time-slicer.ts'
import { BenchmarkSnapshot, emptySnapshot } from './snapshot.ts'
import { readBenchmarksVersion, readResults } from './store.ts'

/** The results of benchmarks for requests, which never read the database. */
export class Benchmarks {
  current = emptySnapshot

  static async open(db: Db): Promise<Benchmarks> {
    const benchmarks = new Benchmarks()
    await benchmarks.poll(db)
    return benchmarks
  }

  /** Loads what any node or command has stored. While the database is unavailable, the last known results remain. */
  async poll(db: Db, knownVersion?: number): Promise<void> {
    if ((knownVersion ?? (await readBenchmarksVersion(db))) === this.current.version) return
    const latest = await readResults(db)
    if (latest.version > this.current.version)
      this.current = await runInSlices(BenchmarkSnapshot.build(latest))
  }
}
