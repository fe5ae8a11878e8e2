import { describe, expect, test } from 'bun:test'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import {
  databaseKinds,
  describeOnEachDatabase,
  startTestServer,
  type TestServer,
} from '../../../../test/support/harness.ts'
import { formatS3Settings, hasS3, newS3Options, toSettings } from '../../../../test/support/s3.ts'
import { S3Store } from '../../../platform/files/s3-store.ts'
import { abandonedAfterMs, sweepFiles } from './sweep.ts'

const options = hasS3 ? newS3Options() : null
const storages: [string, string][] = [
  ['disk', ''],
  ...(options ? [['S3', formatS3Settings(options)] as [string, string]] : []),
]

async function upload(server: TestServer, text: string, name = 'a.txt') {
  const body = new FormData()
  body.append('file', new File([text], name))
  return server.call('POST', '/files', { body })
}

for (const [storage, settings] of storages) {
  describeOnEachDatabase(
    `files in ${storage} storage`,
    (server) => {
      const download = async (id: string, headers: Record<string, string> = {}) => {
        const {
          status,
          headers: replied,
          body,
        } = await server().call('GET', `/files/${id}/content`, { headers })
        return { status, body, range: replied.get('content-range'), length: replied.get('content-length') }
      }

      test('E7 are uploaded, listed, downloaded and deleted', async () => {
        const { id } = (await upload(server(), 'hello world')).body
        expect((await server().call('GET', '/files')).body.data[0].id).toBe(id)
        const content = await server().call('GET', `/files/${id}/content`)
        expect(content.body).toBe('hello world')
        expect(content.headers.get('accept-ranges')).toBe('bytes')
        expect(content.headers.get('etag')).toBe(`"${id}"`)
        expect((await server().call('DELETE', `/files/${id}`)).status).toBe(200)
        expect((await download(id)).status).toBe(404)
      })

      test.each([
        ['bytes=0-4', 206, 'hello', 'bytes 0-4/11', '5'],
        ['bytes=6-', 206, 'world', 'bytes 6-10/11', '5'],
        ['bytes=-3', 206, 'rld', 'bytes 8-10/11', '3'],
        ['bytes=0-999', 206, 'hello world', 'bytes 0-10/11', '11'],
        ['bytes=0-1,3-4', 200, 'hello world', null, '11'],
      ])('the range %s is %d', async (range, status, body, contentRange, length) => {
        const { id } = (await upload(server(), 'hello world')).body
        expect(await download(id, { range })).toEqual({ status, body, range: contentRange, length })
      })

      test('416 for a range outside of the file, with its size', async () => {
        const { id } = (await upload(server(), 'hello world')).body
        const { status, body, range } = await download(id, { range: 'bytes=11-' })
        expect({ status, range }).toEqual({ status: 416, range: 'bytes */11' })
        expect(body.error).toMatchObject({ code: 416, message: 'range: the file has 11 bytes.' })
      })

      test('a range applies only to the file that If-Range names', async () => {
        const { id } = (await upload(server(), 'hello world')).body
        const range = 'bytes=0-4'
        expect((await download(id, { range, 'if-range': `"${id}"` })).status).toBe(206)
        expect((await download(id, { range, 'if-range': '"another"' })).status).toBe(200)
      })

      test('R37 a range of a foreign file is 404', async () => {
        const { id } = (await upload(server(), 'hello world')).body
        const key = server().foreign.inferenceKey
        const headers = { range: 'bytes=0-4' }
        expect((await server().call('GET', `/files/${id}/content`, { key, headers })).status).toBe(404)
      })

      test('500, not 404, when the record is there and its bytes are not', async () => {
        const { id } = (await upload(server(), 'hello')).body
        if (options && storage === 'S3') await new S3Store(options).delete(id)
        else await Bun.file(join(server().gateway.config.dataDir, 'files', id)).delete()
        expect((await download(id)).status).toBe(500)
      })
    },
    { settings },
  )
}

describe.if(hasS3).each(databaseKinds)('files in S3 storage (%s)', (kind) => {
  test('nothing stays on disk, the quota holds, and the sweep removes what has no row', async () => {
    const bucket = newS3Options()
    const settings = formatS3Settings(bucket, { workspace_bytes: 1024 })
    const server = await startTestServer(kind, { settings })
    const store = new S3Store(bucket)
    const keys = async () => (await Array.fromAsync(store.list())).flat().map(({ key }) => key)
    try {
      const { id } = (await upload(server, 'a'.repeat(1000))).body
      expect(readdirSync(join(server.gateway.config.dataDir, 'files'))).toEqual([])
      const rejected = await upload(server, 'a'.repeat(100))
      expect(rejected.body.error.metadata.reason).toBe('storage_full')
      expect(await keys()).toEqual([id])
      const path = join(server.gateway.config.dataDir, 'orphan')
      for (const key of ['hg_file_00000000000000000000000a', 'notes.txt']) {
        await Bun.write(path, 'x')
        await store.put(key, path)
      }
      expect(await sweepFiles(server.gateway)).toBe(0)
      server.clock.advance(abandonedAfterMs + 60_000)
      expect(await sweepFiles(server.gateway)).toBe(1)
      expect((await keys()).sort()).toEqual([id, 'notes.txt'].sort())
    } finally {
      await server.stop()
    }
  })

  test('files that were stored on disk before are still there', async () => {
    const server = await startTestServer(kind)
    try {
      const { id } = (await upload(server, 'on disk')).body
      const { gateway } = server
      const before = gateway.settings
      Object.assign(gateway, {
        settings: { ...before, files: { ...before.files, s3: toSettings(newS3Options()) } },
      })
      const second = (await upload(server, 'in S3')).body.id
      expect((await server.call('GET', `/files/${id}/content`)).body).toBe('on disk')
      expect((await server.call('GET', `/files/${second}/content`)).body).toBe('in S3')
      Object.assign(gateway, { settings: before })
      expect((await server.call('GET', `/files/${second}/content`)).status).toBe(500)
      expect((await server.call('DELETE', `/files/${id}`)).status).toBe(200)
      expect(existsSync(join(gateway.config.dataDir, 'files', id))).toBe(false)
    } finally {
      await server.stop()
    }
  })
})
