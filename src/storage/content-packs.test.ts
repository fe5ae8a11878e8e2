import { describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { insertContent, insertGeneration, sampleContent } from '../../test/support/generations.ts'
import { describeOnEachDatabase } from '../../test/support/harness.ts'
import { hasS3, newS3Options, toSettings } from '../../test/support/s3.ts'
import { deleteExpiredContents } from '../api/analytics/generations/store.ts'
import { readConfig } from '../config.ts'
import { writeBackup } from '../gateway/backup/backup.ts'
import { restoreBackup } from '../gateway/backup/restore.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { closeDb, openDb } from '../platform/db/db.ts'
import { S3Store } from '../platform/files/s3-store.ts'
import { moveContents } from './content-packs.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const options = hasS3 ? newS3Options() : null
const settings = options
  ? `files: ${JSON.stringify({ s3: toSettings(options) })}\nrecords: { contents: bucket }\n`
  : ''

describe.if(hasS3)('contents in the bucket', () => {
  describeOnEachDatabase(
    'contents in the bucket',
    (server, kind) => {
      const gateway = () => server().gateway
      const bucket = () => new S3Store(options!)
      const own = () => server().own
      const ago = (ms: number) => new Date(gateway().clock.now() - ms).toISOString()

      const log = async (text: string, createdAt = ago(1000)) => {
        const id = await insertGeneration(gateway(), own(), { created_at: createdAt, ended_at: createdAt })
        const content = { ...sampleContent, input: { prompt: text } }
        await insertContent(gateway(), own(), id, { content, createdAt })
        return id
      }
      const read = (id: string, key = own().managementKey) =>
        server().call('GET', `/generation/content?id=${id}`, { key })
      const rowOf = (id: string) =>
        gateway()
          .db.selectFrom('generation_contents')
          .selectAll()
          .where('generation_id', '=', id)
          .executeTakeFirst()
      const listPacks = async () => (await Array.fromAsync(bucket().list('contents/'))).flat()
      const clear = async () => {
        await gateway().db.deleteFrom('generation_contents').execute()
        for (const { key } of await listPacks()) await bucket().delete(key)
      }
      const withSettings = async (change: Partial<Gateway['settings']>, run: () => Promise<void>) => {
        const before = gateway().settings
        Object.assign(gateway(), { settings: { ...before, ...change } })
        await run()
        Object.assign(gateway(), { settings: before })
      }

      test('are moved there, encrypted, and read with the same permissions', async () => {
        await clear()
        const [first, second] = [await log('canary-one'), await log('canary-zwölf 🚀')]
        expect(await moveContents(gateway())).toBe('idle')
        const rows = [await rowOf(first), await rowOf(second)]
        expect(rows.map((row) => row?.sealed_content)).toEqual(['', ''])
        expect(rows.map((row) => row?.pack_offset)).toContain(0)
        for (const { key } of await listPacks())
          expect(await new Response(await bucket().read(key)).text()).not.toContain('canary')
        for (const [id, prompt] of [
          [first, 'canary-one'],
          [second, 'canary-zwölf 🚀'],
        ] as const) {
          expect((await read(id)).body.data).toEqual({ ...sampleContent, input: { prompt } })
          expect((await read(id, own().inferenceKey)).status).toBe(200)
          expect((await read(id, server().foreign.managementKey)).status).toBe(404)
          expect((await read(id, server().foreign.inferenceKey)).status).toBe(404)
        }
        const { body } = await server().call('GET', '/audit?action=content.read')
        expect(body.data.length).toBe(4)
      })

      test('R40 cannot be exchanged for those of another request', async () => {
        await clear()
        const [first, second] = [await log('one'), await log('two')]
        await moveContents(gateway())
        const { pack_offset, pack_length } = (await rowOf(second))!
        await gateway()
          .db.updateTable('generation_contents')
          .set({ pack_offset, pack_length })
          .where('generation_id', '=', first)
          .execute()
        expect((await read(first)).status).toBe(500)
      })

      test('stay readable when the setting changes, as do those that were never moved', async () => {
        await clear()
        const moved = await log('moved')
        await moveContents(gateway())
        const { records, files } = gateway().settings
        await withSettings({ records: { ...records, contents: 'database' } }, async () => {
          const stored = await log('stored')
          expect(await moveContents(gateway())).toBe('idle')
          expect((await rowOf(stored))?.pack).toBeNull()
          expect((await read(stored)).body.data.input.prompt).toBe('stored')
          expect((await read(moved)).body.data.input.prompt).toBe('moved')
        })
        await withSettings({ files: { ...files, s3: null } }, async () => {
          expect((await read(moved)).status).toBe(500)
        })
      })

      test('share objects by the hour, of a bounded size', async () => {
        await clear()
        const start = Date.parse(`${ago(5 * hourMs).slice(0, 13)}:00:00.000Z`)
        const long = 'x'.repeat(3 * 1024 * 1024)
        const ids = []
        for (const [text, minutes] of [
          ...(['a', 'b'] as const).map((text) => [text, 10] as const),
          ...[1, 2, 3].map((minute) => [long, 60 + minute] as const),
        ])
          ids.push(await log(text, new Date(start + minutes * 60_000).toISOString()))
        await moveContents(gateway())
        const packs = await Promise.all(ids.map(async (id) => (await rowOf(id))?.pack))
        expect(packs[0]).toBe(packs[1]!)
        expect(packs[0]).toStartWith(new Date(start).toISOString().slice(0, 13))
        expect(new Set(packs.slice(2)).size).toBeGreaterThan(1)
        expect(packs[2]).toStartWith(new Date(start + hourMs).toISOString().slice(0, 13))
        for (const id of ids.slice(2)) expect((await read(id)).body.data.input.prompt).toBe(long)
      })

      test('are moved once by nodes that try at the same time', async () => {
        await clear()
        const ids = [await log('one'), await log('two')]
        await Promise.all([moveContents(gateway()), moveContents(gateway()), moveContents(gateway())])
        expect((await listPacks()).length).toBe(1)
        for (const id of ids) expect((await read(id)).status).toBe(200)
      })

      test('R23 expire with their rows, and the objects with the last of them', async () => {
        await clear()
        const [old, edge] = [await log('old', ago(3 * dayMs)), await log('edge', ago(dayMs))]
        await moveContents(gateway())
        const recent = await log('recent')
        await moveContents(gateway())
        const records = { ...gateway().settings.records, content_retention_days: 2 }
        await withSettings({ records }, async () => {
          // Objects of the last hour could belong to a node that has not recorded them yet.
          expect(await deleteExpiredContents(gateway())).toBe(1)
          expect((await listPacks()).length).toBe(3)
          server().clock.advance(2 * hourMs)
          expect(await deleteExpiredContents(gateway())).toBe(0)
        })
        expect((await listPacks()).length).toBe(2)
        expect((await read(old)).status).toBe(404)
        for (const id of [edge, recent]) expect((await read(id)).status).toBe(200)
        server().clock.advance(-2 * hourMs)
      })

      test('wait in the database while the bucket is away, and cannot be read from it', async () => {
        await clear()
        const moved = await log('moved')
        await moveContents(gateway())
        const { files } = gateway().settings
        const s3 = { ...files.s3!, endpoint: 'http://127.0.0.1:9' }
        await withSettings({ files: { ...files, s3 } }, async () => {
          const waiting = await log('waiting')
          await expect(moveContents(gateway())).rejects.toThrow('The store could not be used')
          expect((await read(waiting)).body.data.input.prompt).toBe('waiting')
          expect((await read(moved)).status).toBe(503)
        })
        expect(await moveContents(gateway())).toBe('idle')
      })

      test('are read by previews of guardrails', async () => {
        await clear()
        await log('Call 555-0100 or mail canary@example.com')
        await moveContents(gateway())
        await log('nothing')
        const guardrail = {
          name: 'draft',
          content_filter_builtins: [{ slug: 'email', action: 'block' }],
        }
        const { status, body } = await server().call('POST', '/guardrails/preview/history', {
          body: { guardrail },
        })
        expect([status, body.data?.examined, body.data?.blocked]).toEqual([200, 2, 1])
      })

      test.if(kind === 'postgres')('are in a backup, and in the database after a restore', async () => {
        await clear()
        const moved = await log('moved')
        await moveContents(gateway())
        const stored = await log('stored')
        const folder = mkdtempSync(join(tmpdir(), 'headgate-packs-'))
        const archive = join(folder, 'backup')
        await writeBackup(gateway(), archive, {
          hasSecret: true,
          hasFiles: true,
          onProgress: () => undefined,
        })
        const config = readConfig({ HEADGATE_DATA_DIR: join(folder, 'data') })
        await restoreBackup(config, archive, { onVerified: () => undefined, onLoaded: () => undefined })
        const db = openDb(config.databaseUrl)
        const rows = await db.selectFrom('generation_contents').selectAll().execute()
        expect(rows.map(({ generation_id }) => generation_id).sort()).toEqual([moved, stored].sort())
        for (const { generation_id: id, sealed_content, pack } of rows) {
          const content = JSON.parse(gateway().vault.decrypt(sealed_content, id))
          expect([content.input.prompt, pack]).toEqual([id === moved ? 'moved' : 'stored', null])
        }
        await closeDb(db)
        rmSync(folder, { recursive: true })
      })
    },
    { settings },
  )
})
