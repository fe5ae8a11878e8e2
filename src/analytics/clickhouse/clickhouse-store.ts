import type { ClickHouseConfig } from '../../config/clickhouse.ts'
import type { Db } from '../../platform/db/db.ts'
import { utcDay } from '../../platform/time/time.ts'
import { Aggregator, type Group, type RollupQuery } from '../rollups/aggregator.ts'
import {
  addGenerations,
  addRollups,
  addSegmentsInSlices,
  type QueryRequest,
  retryReading,
} from '../rollups/query.ts'
import { ClickHouseClient, ClickHouseError } from './client.ts'
import { type Coverage, readCoverage } from './stream-store.ts'
import { readStreamId } from './tables.ts'
import { buildUsageStatement, toSegments } from './usage-query.ts'

/** With more that ClickHouse does not have yet, the roll-ups are faster. */
const maxPending = 20_000
/** Groups of a result, before filters that the result is still to be compared with. */
const maxRows = 500_000
/** After a failure, queries go to the database for this long. */
const pauseMs = 5000
const dayMs = 86_400_000

/** What this node knows of the server of ClickHouse. */
export interface ClickHouseStatus {
  isConnected: boolean
  /** Why the last statement failed; null while it is connected. */
  problem: string | null
  queries: number
  /** Queries that the database answered instead. */
  fallbacks: number
}

/** Answers analytics from ClickHouse, together with what it does not have yet. Callers fall back to the database. */
export class ClickHouseStore {
  readonly config: ClickHouseConfig
  readonly status: ClickHouseStatus = { isConnected: true, problem: null, queries: 0, fallbacks: 0 }
  readonly #client: ClickHouseClient
  #pausedUntil = Number.NEGATIVE_INFINITY
  /** The stream that the tables were found to belong to. */
  #streamId: string | null = null

  constructor(config: ClickHouseConfig, client = new ClickHouseClient(config)) {
    this.config = config
    this.#client = client
  }

  /** Notes whether the export of this node succeeded. */
  recordExport(problem: string | null): void {
    this.status.isConnected = problem === null
    this.status.problem = problem
    if (problem === null) this.#pausedUntil = Number.NEGATIVE_INFINITY
  }

  /**
   * Resolves to what `read` finds in ClickHouse, or else to what `fallBack` finds in the database: if the server is away
   * or too slow, or does not have all of it.
   */
  async readOr<T>(read: () => Promise<T | null>, fallBack: () => Promise<T>): Promise<T> {
    if (performance.now() < this.#pausedUntil) {
      this.status.fallbacks++
      return fallBack()
    }
    try {
      const found = await read()
      if (found !== null) return found
    } catch (error) {
      if (!(error instanceof ClickHouseError)) throw error
      this.status.fallbacks++
      if (error.code === null) this.#pause(error)
    }
    return fallBack()
  }

  /** Without an answer of the server, the next queries do not wait for it. */
  #pause({ message }: ClickHouseError): void {
    this.status.isConnected = false
    this.status.problem = message
    this.#pausedUntil = performance.now() + pauseMs
  }

  async select(sql: string): Promise<unknown[][]> {
    this.status.queries++
    return this.#client.select(sql, {
      timeoutMs: this.config.timeoutMs,
      settings: {
        do_not_merge_across_partitions_select_final: 1,
        max_result_rows: maxRows,
        result_overflow_mode: 'throw',
      },
    })
  }

  /** Null unless ClickHouse covers some days, and has all of them but for a limited number of generations. */
  async readCoverage(db: Db, organizationId: string): Promise<Coverage | null> {
    const coverage = await readCoverage(db, organizationId, maxPending)
    if (!coverage?.coveredFrom || coverage.pending.length > maxPending) return null
    if (this.#streamId !== coverage.streamId) await this.#verifyTables(coverage.streamId)
    return coverage
  }

  /** CLICKHOUSE_URL may be another server than before. */
  async #verifyTables(streamId: string): Promise<void> {
    if ((await readStreamId(this.#client)) !== streamId)
      throw new ClickHouseError('the tables in ClickHouse belong to another stream', 0)
    this.#streamId = streamId
  }

  /** Adds up usage: the days that ClickHouse has, those before from the roll-ups, and what is pending. */
  async queryUsage(db: Db, request: QueryRequest): Promise<Group[] | null> {
    const { organizationId, query, timeoutMs } = request
    const deadline = performance.now() + timeoutMs
    let coverage = await this.readCoverage(db, organizationId)
    if (!coverage?.coveredFrom || coverage.coveredFrom > utcDay(query.to - 1)) return null
    const from = Math.max(query.from, startOf(coverage.coveredFrom))
    const covered = { organizationId, query: { ...query, from } }
    return retryReading(async () => {
      const aggregator = new Aggregator(query)
      const earlier = { organizationId, query, toDay: utcDay(from - dayMs), deadline }
      if (from > query.from && !(await addRollups(db, aggregator, earlier))) return null
      coverage ??= await this.readCoverage(db, organizationId)
      const { pending } = coverage ?? tooFarBehind()
      coverage = null
      return this.#addCovered(db, aggregator, { ...covered, pending }, deadline)
    })
  }

  async #addCovered(
    db: Db,
    aggregator: Aggregator,
    { organizationId, query, pending }: CoveredQuery,
    deadline: number,
  ): Promise<Aggregator | null> {
    const statement = buildUsageStatement({ organizationId, query, excluded: pending })
    const rows = await this.select(statement.sql)
    await addSegmentsInSlices(aggregator, toSegments(statement, rows, query), deadline)
    const generations = pending.map((generationId) => ({ generationId, previous: null }))
    const firstDay = utcDay(query.from)
    const added = { generations, isIncluded: (day: string) => day >= firstDay }
    return (await addGenerations(db, aggregator, query, added, deadline)) ? aggregator : null
  }
}

interface CoveredQuery {
  organizationId: string
  query: RollupQuery
  pending: readonly string[]
}

/** The first of all days is before every time. */
function startOf(day: string): number {
  return day < '1000' ? Number.NEGATIVE_INFINITY : Date.parse(day)
}

function tooFarBehind(): never {
  throw new ClickHouseError('ClickHouse is too far behind', 0)
}
