import { Database } from 'bun:sqlite'
import { afterAll, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import * as fs from 'node:fs'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { pino } from 'pino'
import { findLedgerProblems, readLedgerSnapshot } from '../../test/faults/reconciliation.ts'
import { createMigratedFile } from '../../test/support/databases.ts'
import { blankGeneration, toGenerationRecord } from '../../test/support/generations.ts'
import type { Statement } from '../platform/db/batch.ts'
import { closeDb, openDb } from '../platform/db/db.ts'
import { emptyGeneration, type GenerationTable, generationColumns } from '../platform/db/generation-table.ts'
import { systemClock } from '../platform/time/clock.ts'
import { decodeDraft, emptyDraft, emptyTarget } from './draft.ts'
import type { AdmitOperation, LedgerOperation, Settlement } from './engine.ts'
import { type DraftColumns, draftColumns, listRecordValues } from './generation.ts'
import { JournalFlusher } from './journal-flusher.ts'
import { encodeAdmit, encodeColumns, encodeSettlement } from './journal-line.ts'
import { acceptJournalLoss } from './journal-loss.ts'
import { listSegmentFiles, readLeftoverFile, SegmentFile } from './journal-segment.ts'
import { meterSubjects } from './meter-subjects.ts'
import { SqliteEngine } from './sqlite-engine.ts'

const folder = mkdtempSync(join(tmpdir(), 'headgate-journal-'))
const engines: SqliteEngine[] = []
let count = 0

afterAll(async () => {
  for (const engine of engines) await engine.close()
  rmSync(folder, { recursive: true })
})

async function newDatabase(): Promise<string> {
  const path = join(mkdtempSync(join(folder, 'data-')), 'headgate.sqlite')
  await createMigratedFile(path)
  const db = openDb(path)
  const created = { is_operator: 0, created_at: '2027-01-01T00:00:00.000Z' } as const
  await db
    .insertInto('organizations')
    .values({ id: 'one', name: 'One', ...created })
    .execute()
  await closeDb(db)
  return path
}

function engineOn(path: string): SqliteEngine {
  const engine = new SqliteEngine(path, systemClock, pino({ level: 'silent' }))
  engines.push(engine)
  return engine
}

/** Copies the state that a crash at this moment leaves: the current journal, and the database at most as far. */
function crashed(path: string): string {
  const to = mkdtempSync(join(folder, 'crashed-'))
  for (const left of [...listSegmentFiles(path), durableOf(path)].filter(existsSync)) {
    copyFileSync(left, join(to, basename(left)))
  }
  const database = new Database(path)
  database.run('vacuum into ?', [join(to, 'headgate.sqlite')])
  database.close()
  return join(to, 'headgate.sqlite')
}

function durableOf(path: string): string {
  return `${path}-ledger-durable`
}

const meters = [meterSubjects.organization('one'), meterSubjects.workspace('one'), meterSubjects.key(1)]

function hold(amount = 100n): AdmitOperation {
  const id = `gen-${String(++count).padStart(8, '0')}`
  const scope = { organization_id: 'one', workspace_id: 'one', key_id: 1, created_at: '2028-01-01' }
  return {
    op: 'admit',
    organizationId: 'one',
    owner: 'node',
    expiresAt: '2999-01-01T00:00:00.000Z',
    draft: { ...emptyDraft, generation: { ...emptyGeneration, ...blankGeneration, id, ...scope } },
    request: { id, subjects: meters, day: '2028-01-01', limits: [], free: null, amount, byok: 0n },
  }
}

function charge(
  { request: { id }, draft: { generation: draft } }: AdmitOperation,
  amount: bigint,
  changes: Partial<GenerationTable> = {},
  extraStatements: Statement[] = [],
): Settlement {
  const row = { ...blankGeneration, ...draft, cost_nanos: amount, hold_nanos: 100n, ...changes }
  const changed = toGenerationRecord(row)
  const isDraftChanged = Object.entries(changed.draft).some(([name, value]) => value !== draft[name as 'id'])
  const generation = isDraftChanged ? changed : { ...changed, draft }
  const spent = { amount, byok: 0n }
  const meteredIn = null
  return {
    op: 'settle',
    id,
    organizationId: 'one',
    isByok: false,
    spent,
    generation,
    meteredIn,
    extraStatements,
  }
}

const sharedPricing = { prompt: '0.1', completion: '0.2' }

/** Selects the columns of a draft, except the one that these settlements change. */
function pickDraft(generation: DraftColumns) {
  const columns = draftColumns.filter((column) => column !== 'external_user')
  return Object.fromEntries(columns.map((column) => [column, generation[column]]))
}

async function run(engine: SqliteEngine, ...ops: LedgerOperation[]) {
  const { results, durable } = await engine.run(ops)
  await durable
  return results
}

/** Reads the ledger after a start on these files and a clean stop. */
async function takenUp(path: string) {
  const engine = engineOn(path)
  await engine.open()
  await engine.close()
  expect(listSegmentFiles(path)).toEqual([])
  const ledger = await readLedgerSnapshot(path)
  expect(findLedgerProblems(ledger)).toEqual([])
  return {
    records: ledger.generations.map(({ id, cost_nanos }) => [id, cost_nanos]),
    holds: ledger.holds.map(({ id }) => id),
    spent: ledger.meters.map(({ total_nanos }) => total_nanos),
    held: ledger.meters.map(({ held_total_nanos }) => held_total_nanos),
  }
}

describe('the journal of the ledger', () => {
  let path: string
  let engine: SqliteEngine
  beforeEach(async () => {
    path = await newDatabase()
    engine = engineOn(path)
  })

  test('R7 I2 what was done before a crash is there after it, once, however often it is recovered', async () => {
    const [settled, open] = [hold(), hold()]
    await run(engine, settled, open, charge(settled, 7n))
    const left = crashed(path)
    const expected = {
      records: [[settled.request.id, 7n]],
      holds: [open.request.id],
      spent: [7n, 7n, 7n],
      held: [100n, 100n, 100n],
    }
    const again = crashed(left)
    expect(await takenUp(left)).toEqual(expected)
    expect(await takenUp(left)).toEqual(expected)
    expect(await takenUp(again)).toEqual(expected)
  })

  test('R7 a charge in one segment for a hold in an earlier one, before and after a flush', async () => {
    const [first, second] = [hold(), hold()]
    await run(engine, first, second)
    await engine.flush()
    await run(engine, charge(first, 3n), { op: 'note', id: second.request.id, checkpoint: '{"tokens":1}' })
    const left = crashed(path)
    expect(await takenUp(left)).toMatchObject({ records: [[first.request.id, 3n]], spent: [3n, 3n, 3n] })
    const db = openDb(left)
    const holds = await db.selectFrom('holds').select(['id', 'checkpoint']).execute()
    await closeDb(db)
    expect(holds).toEqual([{ id: second.request.id, checkpoint: '{"tokens":1}' }])
  })

  test('I2 what is settled and not flushed yet cannot be settled a second time', async () => {
    const admit = hold()
    await run(engine, admit)
    await engine.flush()
    expect(await run(engine, charge(admit, 3n))).toEqual([null])
    expect(await run(engine, charge(admit, 5n))).toEqual(['closed before'])
    await engine.close()
    expect((await takenUp(path)).spent).toEqual([3n, 3n, 3n])
  })

  test('R7 S13 no character that a client sends makes the journal unreadable', async () => {
    const every = String.fromCharCode(...Array.from({ length: 0x10000 }, (_, code) => code)).toWellFormed()
    for (const text of ['\u2028', '\u2029', '\u0085', '\r\n\t', `${every}😀`]) {
      const [first, second] = [hold(), hold()]
      await run(engine, first, charge(first, 1n, { external_user: text }))
      await run(engine, second, charge(second, 1n))
    }
    const left = crashed(path)
    expect((await takenUp(left)).records).toHaveLength(10)
    await engine.flush()
    expect(await readLedgerSnapshot(path).then(({ generations }) => generations)).toHaveLength(10)
  })

  test('R7 a torn end is dropped: its client received no confirmation', async () => {
    const [first, second] = [hold(), hold()]
    await run(engine, first, second)
    await run(engine, charge(first, 7n))
    const { durable } = await engine.run([charge(second, 9n)])
    const left = crashed(path)
    await durable
    const [file = ''] = listSegmentFiles(left)
    for (const cut of [1, 40]) {
      const torn = crashed(left)
      writeFileSync(listSegmentFiles(torn)[0] ?? '', readFileSync(file).subarray(0, -cut))
      expect(await takenUp(torn)).toMatchObject({
        records: [[first.request.id, 7n]],
        holds: [second.request.id],
      })
    }
  })

  test('R7 what an earlier segment left in a reused file is not part of the later one', async () => {
    for (let segment = 0; segment < 4; segment++) {
      const many = Array.from({ length: 8 - 2 * segment }, () => hold())
      await run(engine, ...many, ...many.map((admit) => charge(admit, 1n)))
      if (segment < 3) await engine.flush()
    }
    const left = crashed(path)
    expect(await takenUp(left)).toMatchObject({ spent: [20n, 20n, 20n], held: [0n, 0n, 0n], holds: [] })
  })

  test('R7 a torn first line over what an earlier segment left is dropped', async () => {
    await engine.open()
    const earlier = [hold(), hold(), hold()]
    await Promise.all(earlier.map((admit) => engine.run([admit, charge(admit, 1n)])))
    await engine.flush()
    const [file = ''] = listSegmentFiles(path)
    const before = readFileSync(file)
    const last = hold()
    const { durable } = await engine.run([last, charge(last, 9n)])
    const left = crashed(path)
    await durable
    const torn = Buffer.concat([readFileSync(file).subarray(0, 300), before.subarray(300)])
    writeFileSync(listSegmentFiles(left)[0] ?? '', torn)
    expect((await takenUp(left)).spent).toEqual([3n, 3n, 3n])
  })

  test('R7 damage in the middle stops the start, names the file, and changes nothing', async () => {
    const [first, second] = [hold(), hold()]
    await run(engine, first, second)
    await run(engine, charge(first, 7n))
    await run(engine, charge(second, 9n))
    const left = crashed(path)
    const [file = ''] = listSegmentFiles(left)
    const whole = readFileSync(file)
    const damaged = Buffer.from(whole)
    damaged.writeUInt8(damaged.readUInt8(60) ^ 1, 60)
    writeFileSync(file, damaged)
    expect(await engineOn(left).open().catch(String)).toContain(`${file} is damaged in line 1`)
    writeFileSync(file, whole)
    expect((await takenUp(left)).spent).toEqual([16n, 16n, 16n])
  })

  test('R7 what was not on disk at a power cut is dropped, and so is what came after', async () => {
    const holds = [hold(), hold(), hold()]
    for (const admit of holds) await run(engine, admit)
    const left = crashed(path)
    const [file = ''] = listSegmentFiles(left)
    const bytes = readFileSync(file)
    const first = bytes.indexOf(10)
    writeFileSync(file, bytes.fill(0, first + 1, bytes.indexOf(10, first + 1)))
    expect((await takenUp(left)).holds).toEqual(holds.slice(0, 1).map(({ request }) => request.id))
  })

  /** A confirmed charge, and a segment whose predecessor lost its end to a power cut. */
  async function leaveCutPiece() {
    const [confirmed, lost, after] = [hold(), hold(), hold()]
    await run(engine, confirmed, charge(confirmed, 7n))
    await run(engine, lost)
    const left = crashed(path)
    await engine.flush()
    await run(engine, after, charge(lost, 9n), charge(after, 11n))
    copyFileSync(listSegmentFiles(path)[0] ?? '', `${left}-ledger-9`)
    const whole = readFileSync(`${left}-ledger-1`)
    writeFileSync(`${left}-ledger-1`, whole.subarray(0, whole.indexOf(10) + 1))
    return { left, records: [[confirmed.request.id, 7n]] }
  }

  test('R7 a segment whose predecessor lost its end to a power cut is dropped', async () => {
    const { left, records } = await leaveCutPiece()
    expect((await takenUp(left)).records).toEqual(records)
  })

  test('R7 a segment after a cut one is dropped also when the start that finds it is interrupted', async () => {
    const { left, records } = await leaveCutPiece()
    const interrupted = spyOn(fs, 'unlinkSync').mockImplementation(() => {
      throw new Error('interrupted')
    })
    await expect(engineOn(left).open()).rejects.toThrow('interrupted')
    interrupted.mockRestore()
    expect((await takenUp(left)).records).toEqual(records)
  })

  test('R7 a journal of another database, or of a newer state of it, stops the start', async () => {
    const older = crashed(path)
    for (const amount of [7n, 9n]) {
      await engine.flush()
      const admit = hold()
      await run(engine, admit, charge(admit, amount))
    }
    const [file = ''] = listSegmentFiles(crashed(path)).slice(-1)
    copyFileSync(file, `${older}-ledger-1`)
    expect(await engineOn(older).open().catch(String)).toContain('does not continue this database')
  })

  /** Writes lines as another version would, after a clean stop of this one. */
  async function writtenBy(lines: (settle: Settlement) => string[]): Promise<AdmitOperation> {
    const admit = hold()
    await run(engine, admit)
    await engine.close()
    const facts = new Database(path)
    const [journal = ''] =
      facts.query("select value from instance where name = 'ledger_journal'").values()[0] ?? []
    facts.close()
    const file = new SegmentFile(`${path}-ledger-1`)
    file.begin({ journal: String(journal), number: 2 }, Promise.resolve(), 0)
    file.append(lines(charge(admit, 7n)))
    return admit
  }

  test('R7 a journal of a version that had other columns is read by their names', async () => {
    const admit = await writtenBy(({ generation, ...settle }) => {
      const known = generationColumns.filter((column) => column !== 'user_agent')
      const values = generation ? listRecordValues(generation) : []
      const written = values.filter((_, index) => generationColumns[index] !== 'user_agent')
      const columns = encodeColumns(['dropped_since', ...known]).replace(/^columns \d+/, 'columns -')
      const { organizationId, isByok, spent, id } = settle
      const rest = [organizationId, isByok, `${spent.amount}`, `${spent.byok}`, ['old', ...written], []]
      return [columns, `settle ${id} ${JSON.stringify(rest)}`]
    })
    expect((await takenUp(path)).records).toEqual([[admit.request.id, 7n]])
    const [record] = (await readLedgerSnapshot(path)).generations
    expect(record).toMatchObject({
      user_agent: null,
      request_id: blankGeneration.request_id,
      organization_id: 'one',
    })
  })

  test('R7 a journal that has every hold and settlement in full, as the first format, is read', async () => {
    const [settled, other] = [hold(), hold()]
    const admit = await writtenBy((settle) => [
      encodeColumns(generationColumns).replace(/^columns \d+/, 'columns 1'),
      encodeAdmit(settled),
      encodeAdmit(other),
      encodeSettlement(charge(settled, 9n)),
      encodeSettlement(settle),
    ])
    expect(await takenUp(path)).toEqual({
      records: [
        [settled.request.id, 9n],
        [admit.request.id, 7n],
      ],
      holds: [other.request.id],
      spent: [16n, 16n, 16n],
      held: [100n, 100n, 100n],
    })
  })

  test('R7 a record and a hold are whole, however much of them a segment has in an earlier line', async () => {
    const kinds = Array.from({ length: 30 }, (_, index) => {
      const text = (name: string) => `${name} ${index % 3}`
      const draft = {
        request_id: `req-${index}`,
        session_id: index % 2 ? text('s') : null,
        input_images: index,
      }
      const shared = { requested_model: text('model'), user_agent: `agent ${index % 10}`, app_url: null }
      const admit = hold(BigInt(index))
      const generation = { ...admit.draft.generation, ...draft, ...shared }
      const initialTarget = { ...emptyTarget, model: text('m'), pricing: index % 2 ? null : sharedPricing }
      return { ...admit, draft: { ...admit.draft, generation, initialTarget, promptTokens: index } }
    })
    const [first, later] = [kinds.slice(0, 20), kinds.slice(20)]
    await run(engine, ...later)
    await engine.flush()
    await run(engine, ...first)
    const settled = [...first.slice(0, 15), ...later.slice(0, 5)]
    for (const op of settled) await run(engine, charge(op, 1n, { external_user: op.request.id }))
    await takenUp(crashed(path))
    await engine.close()
    const db = openDb(path)
    const records = await db.selectFrom('generations').selectAll().orderBy('id').execute()
    const open = await db.selectFrom('holds').selectAll().execute()
    await closeDb(db)
    const expected = settled.toSorted((a, b) => (a.request.id < b.request.id ? -1 : 1))
    expect(records).toMatchObject(
      expected.map(({ draft: { generation } }) => ({
        ...pickDraft(generation),
        external_user: generation.id,
      })),
    )
    expect(open).toHaveLength(10)
    for (const { id, draft, amount_nanos, subjects } of open) {
      const op = kinds.find(({ request }) => request.id === id)
      expect({ ...decodeDraft(draft), amount_nanos, subjects }).toMatchObject({
        ...op?.draft,
        ...{ generation: op && pickDraft(op.draft.generation), amount_nanos: op?.request.amount },
        subjects: op?.request.subjects.join(' '),
      })
    }
  })

  test('what requests have in common is written once in a segment', async () => {
    const admits = Array.from({ length: 50 }, () => hold())
    await run(engine, ...admits)
    for (const admit of admits) await run(engine, charge(admit, 1n))
    const text = listSegmentFiles(path)
      .map((file) => readFileSync(file, 'latin1'))
      .join('')
    const count = (kind: string) => text.split(new RegExp(`[\\t ]${kind} gen-`)).length - 1
    const counts = {
      admit: count('admit'),
      repeat: count('repeat'),
      settle: count('settle'),
      charge: count('charge'),
    }
    // A segment ends every quarter of a second.
    expect(counts.repeat + counts.charge).toBeGreaterThan(50)
    expect(counts.admit + counts.repeat).toBe(50)
    expect(counts.settle + counts.charge).toBe(50)
  })

  test('R7 a journal of a newer version stops the start with a message, and is not changed', async () => {
    await writtenBy((settle) => [
      encodeColumns(generationColumns).replace(/\d+/, '99'),
      encodeSettlement(settle),
    ])
    expect(await engineOn(path).open().catch(String)).toContain('by a newer version of Headgate')
    expect(listSegmentFiles(path)).toHaveLength(1)
  })

  test('one rejected record does not affect the others, and the totals stay right', async () => {
    const [good, bad, other] = [hold(), hold(), hold()]
    const rejected = charge(bad, 5n, { model: null as unknown as string })
    await run(engine, good, bad, other, charge(good, 3n), rejected, charge(other, 4n))
    await engine.close()
    const { records, spent } = await takenUp(path)
    expect(records).toEqual([
      [good.request.id, 3n],
      [bad.request.id, 5n],
      [other.request.id, 4n],
    ])
    expect(spent).toEqual([12n, 12n, 12n])
  })

  test('what cannot be encoded for the database does not block what follows', async () => {
    const [good, bad] = [hold(), hold()]
    const short = charge(bad, 0n)
    await run(engine, good, bad)
    const generation = short.generation && {
      ...short.generation,
      outcome: short.generation.outcome.slice(0, 9),
    }
    await run(engine, { ...short, generation }, charge(good, 3n))
    await engine.flush()
    const { generations, holds } = await readLedgerSnapshot(path)
    expect(generations.map(({ id }) => id)).toEqual([good.request.id])
    expect(holds).toEqual([])
  })

  test('extra statements that are rejected do not lose the charge', async () => {
    const admit = hold()
    const insert = 'insert into instance (name, value) values (?, ?)'
    const companions = [
      { sql: insert, values: ['along', 'x'] },
      { sql: insert, values: ['along', null] },
    ]
    await run(engine, admit, charge(admit, 3n, {}, companions))
    await engine.close()
    expect((await takenUp(path)).spent).toEqual([3n, 3n, 3n])
    const database = new Database(path)
    expect(database.query("select * from instance where name = 'along'").all()).toEqual([])
    database.close()
  })

  test('R24 with a full disk nothing is done, and everything once there is room', async () => {
    await engine.open()
    mkdirSync(`${path}-ledger-1`)
    const admit = hold()
    expect(await run(engine, admit).catch(String)).toContain('EEXIST')
    rmdirSync(`${path}-ledger-1`)
    expect(await run(engine, admit)).toEqual([null])
    expect(await run(engine, charge(admit, 3n))).toEqual([null])
    await engine.close()
    expect((await takenUp(path)).spent).toEqual([3n, 3n, 3n])
  })

  test('R7 I3 a charge that fails on a full disk is made once, however often it is retried', async () => {
    const placed = hold()
    await run(engine, placed)
    await engine.flush()
    const full = spyOn(fs, 'writeSync').mockImplementation(() => {
      throw new Error('ENOSPC')
    })
    const settled = charge(placed, 7n)
    const failed = async (op: LedgerOperation) => expect(run(engine, op)).rejects.toThrow('ENOSPC')
    try {
      for (const op of [settled, { ...settled, isRetry: true }, { ...settled, isRetry: true }])
        await failed(op)
    } finally {
      full.mockRestore()
    }
    expect(await run(engine, { ...settled, isRetry: true })).toEqual(['closed before'])
    await engine.close()
    expect(await takenUp(path)).toMatchObject({ records: [[placed.request.id, 7n]], spent: [7n, 7n, 7n] })
  })

  test('R7 a charge after the close is in the journal, even if the database had not caught up', async () => {
    const [first, second, late] = [hold(), hold(), hold()]
    await run(engine, first, second, late)
    await engine.flush()
    const other = new Database(path)
    other.run('pragma busy_timeout=5000')
    other.run("create trigger full before update on instance begin select raise(abort, 'no room'); end")
    await run(engine, charge(first, 1n))
    expect(await engine.flush()?.catch(String)).toContain('no room')
    await run(engine, charge(second, 2n))
    await engine.close()
    await run(engine, charge(late, 4n))
    other.run('drop trigger full')
    other.close()
    expect((await takenUp(crashed(path))).spent).toEqual([7n, 7n, 7n])
  })

  test('R24 a database locked by another process blocks no request, and catches up afterwards', async () => {
    const other = new Database(path)
    await engine.open()
    other.run('begin immediate')
    const admit = hold()
    await run(engine, admit, charge(admit, 3n))
    const later = engine.flush()
    other.run('commit')
    other.close()
    await later
    expect(engine.flush()).toBeNull()
    expect((await readLedgerSnapshot(path)).generations).toHaveLength(1)
  })

  describe('R7 a loss of confirmed charges stops the start and names the file', () => {
    /** Two segments that are not in the database, each with a confirmed charge. */
    async function twoPieces(): Promise<{ left: string; files: string[] }> {
      const [first, second] = [hold(), hold()]
      await run(engine, first, second)
      await engine.flush()
      const other = new Database(path)
      other.run('begin immediate')
      await run(engine, charge(first, 7n))
      const folded = engine.flush()
      // The first segment is closed by now, and waits for the database.
      await new Promise(setImmediate)
      await run(engine, charge(second, 9n))
      const left = crashed(path)
      other.run('commit')
      other.close()
      await folded
      const files = listSegmentFiles(left).sort()
      expect(files).toHaveLength(2)
      return { left, files }
    }

    const openError = (left: string) => engineOn(left).open().then(String, String)

    async function accept(left: string): Promise<string[]> {
      const db = openDb(left)
      try {
        return await acceptJournalLoss(db, left)
      } finally {
        await closeDb(db)
      }
    }

    test('each file deleted', async () => {
      const { left, files } = await twoPieces()
      for (const file of files) {
        const bytes = readFileSync(file)
        rmSync(file)
        const line = await openError(left)
        expect(line).toContain(basename(left))
        expect(line).toMatch(/is missing/)
        expect(line).toContain('accept-journal-loss')
        expect(line.split('\n')).toHaveLength(1)
        writeFileSync(file, bytes)
      }
      expect((await takenUp(left)).spent).toEqual([16n, 16n, 16n])
    })

    test('each file halved, emptied, or without its last line', async () => {
      const { left, files } = await twoPieces()
      for (const file of files) {
        // Without the rest of an earlier segment, which nobody would miss.
        const bytes = readFileSync(file).subarray(0, readLeftoverFile(file).size)
        for (const size of [0, bytes.length >> 1, bytes.length - 1]) {
          writeFileSync(file, bytes.subarray(0, size))
          expect(await openError(left)).toMatch(new RegExp(`${file} has \\d+ of the \\d+ bytes`))
        }
        writeFileSync(file, bytes)
      }
      expect((await takenUp(left)).spent).toEqual([16n, 16n, 16n])
    })

    test('a segment before one that was on disk, without recorded sizes', async () => {
      const holds = [hold(), hold(), hold(), hold()]
      await run(engine, ...holds)
      await engine.flush()
      const other = new Database(path)
      other.run('begin immediate')
      const [first, second, third, fourth] = holds.map((admit) => charge(admit, 7n)) as [
        Settlement,
        ...Settlement[],
      ]
      // Two lines of one segment: nothing else runs in between.
      const written = [await engine.run([first]), await engine.run([second as Settlement])]
      for (const { durable } of written) await durable
      const folded = engine.flush()
      await new Promise(setImmediate)
      await run(engine, third as Settlement)
      await run(engine, fourth as Settlement)
      const left = crashed(path)
      other.run('commit')
      other.close()
      await folded
      rmSync(durableOf(left))
      const [file = ''] = listSegmentFiles(left).sort()
      const whole = readFileSync(file)
      writeFileSync(file, whole.subarray(0, whole.indexOf(10) + 1))
      expect(await openError(left)).toContain(`${file} has`)
    })

    test('all files deleted next to their database, but not next to a backup of it', async () => {
      const { left, files } = await twoPieces()
      for (const file of [...files, durableOf(left)]) rmSync(file)
      const backup = crashed(left)
      const database = new Database(left)
      new JournalFlusher(database).markOpen(true)
      database.close()
      expect(await openError(left)).toContain(`${durableOf(left)} is missing`)
      expect((await takenUp(backup)).spent).toEqual([0n, 0n, 0n])
      expect(await accept(left)).toEqual([])
      expect((await takenUp(left)).spent).toEqual([0n, 0n, 0n])
    })

    test('until the operator accepts it: what can be recovered is, the rest is moved away', async () => {
      const { left, files } = await twoPieces()
      const [first = '', second = ''] = files
      const again = crashed(left)
      rmSync(second)
      expect(await accept(left)).toEqual([])
      expect((await takenUp(left)).spent).toEqual([7n, 7n, 7n])
      rmSync(join(dirname(again), basename(first)))
      const asides = await accept(again)
      expect(asides).toEqual([expect.stringContaining(`${basename(second)}.lost-`)])
      expect((await takenUp(again)).spent).toEqual([0n, 0n, 0n])
      expect(asides.every(existsSync)).toBe(true)
    })

    test('accepted damage loses what follows it, and the damaged file is preserved', async () => {
      const { left, files } = await twoPieces()
      const [first = '', second = ''] = files
      const bytes = readFileSync(first)
      bytes.writeUInt8(bytes.readUInt8(60) ^ 1, 60)
      writeFileSync(first, bytes)
      expect(await openError(left)).toContain(first)
      const asides = await accept(left)
      expect(asides.map((name) => name.split('.lost-')[0])).toEqual([first, second])
      expect((await takenUp(left)).spent).toEqual([0n, 0n, 0n])
      expect(readFileSync(asides[0] ?? '')).toEqual(bytes)
    })

    test('the beginning of a segment that is damaged in its middle is recovered', async () => {
      const [first, second, third] = [hold(), hold(), hold()]
      await run(engine, first, second, third)
      await engine.flush()
      const other = new Database(path)
      other.run('begin immediate')
      await run(engine, charge(first, 7n))
      await run(engine, charge(second, 9n))
      await run(engine, charge(third, 11n))
      const left = crashed(path)
      other.run('commit')
      other.close()
      // Lines that were flushed before may precede it, depending on when that was.
      const settled = new RegExp(`(?:settle|charge) ${second.request.id} `)
      const file = listSegmentFiles(left).find((name) => settled.test(readFileSync(name, 'latin1'))) ?? ''
      const bytes = readFileSync(file)
      const middle = bytes.toString('latin1').search(settled) + 60
      const line = bytes.subarray(0, middle).toString('latin1').split('\n').length
      bytes.writeUInt8(bytes.readUInt8(middle) ^ 1, middle)
      writeFileSync(file, bytes)
      expect(await openError(left)).toContain(`${file} is damaged in line ${line}`)
      const [aside = ''] = await accept(left)
      expect((await takenUp(left)).spent).toEqual([7n, 7n, 7n])
      expect(readFileSync(aside)).toEqual(bytes)
    })

    test('a clean stop leaves nothing that a start would miss', async () => {
      const admit = hold()
      await run(engine, admit, charge(admit, 3n))
      await engine.close()
      expect(existsSync(durableOf(path))).toBe(false)
      expect((await takenUp(path)).spent).toEqual([3n, 3n, 3n])
    })
  })
})
