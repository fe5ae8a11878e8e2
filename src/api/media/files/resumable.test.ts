import { beforeEach, describe, expect, test } from 'bun:test'
import { readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { truncate, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { describeOnEachDatabase } from '../../../../test/support/harness.ts'
import { sweepFiles } from './sweep.ts'

const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size

const settings = 'regions: { hosts: { "eu.example.com": europe } }'

describeOnEachDatabase(
  'the resumable upload of the Gemini API',
  (server) => {
    const uploads = () => join(server().gateway.config.dataDir, 'uploads')
    const unfinished = () => {
      const found = readdirSync(uploads(), { recursive: true, withFileTypes: true })
      return found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
    }
    beforeEach(() => rmSync(uploads(), { recursive: true, force: true }))

    const start = async (body: object = {}, headers: Record<string, string> = {}, key?: string) => {
      const result = await server().call('POST', '/upload/v1beta/files', {
        body,
        headers,
        ...(key && { key }),
      })
      return { ...result, url: result.headers.get('x-goog-upload-url') ?? '' }
    }
    const send = async (url: string, command: string, offset = 0, body = '') => {
      const headers = { 'x-goog-upload-command': command, 'x-goog-upload-offset': String(offset) }
      const response = await fetch(url, { method: 'POST', headers, body })
      const { file, error } = (await response.json()) as {
        file?: { name: string; sizeBytes: string; mimeType: string; displayName: string }
        error?: { message: string; status: string }
      }
      return {
        status: response.status,
        state: response.headers.get('x-goog-upload-status'),
        received: response.headers.get('x-goog-upload-size-received'),
        file,
        error,
      }
    }

    test('pieces become one file, which the other formats have too', async () => {
      const { url } = await start({ file: { displayName: 'note.md' } })
      expect(await send(url, 'upload', 0, '# A no')).toMatchObject({
        status: 200,
        state: 'active',
        received: '6',
      })
      expect(await send(url, 'query')).toMatchObject({ state: 'active', received: '6' })
      const { file, state } = await send(url, 'upload, finalize', 6, 'te\n')
      expect(state).toBe('final')
      expect(file).toMatchObject({ sizeBytes: '9', mimeType: 'text/markdown', displayName: 'note.md' })
      const id = file?.name.replace('files/', 'hg_file_')
      expect((await server().call('GET', `/files/${id}`)).body).toMatchObject({ size_bytes: 9 })
      expect((await server().call('GET', `/files/${id}/content`)).body).toBe('# A note\n')
      expect(unfinished()).toEqual([])
    })

    test('fields in the spelling of the Python client, which sends the bytes without its key', async () => {
      const { url } = await start({ file: { display_name: 'a.txt', mime_type: 'text/plain', size_bytes: 5 } })
      expect((await send(url, 'upload, finalize', 0, 'hello')).file).toMatchObject({ displayName: 'a.txt' })
    })

    test('the address ends with the file, with its hour, and with its key', async () => {
      const { url } = await start()
      expect((await send(url, 'upload, finalize', 0, 'hello')).status).toBe(200)
      expect(await send(url, 'finalize')).toMatchObject({ status: 404, state: 'cancelled' })
      expect(await send(url, 'upload, finalize', 0, 'again')).toMatchObject({
        status: 404,
        state: 'cancelled',
      })

      const slow = await start()
      server().clock.advance(61 * 60 * 1000)
      expect(await send(slow.url, 'upload', 0, 'x')).toMatchObject({ status: 404, state: 'cancelled' })
      server().clock.release()

      const made = await server().call('POST', '/keys', { body: { name: 'k' } })
      const theirs = await start({}, {}, made.body.key)
      await server().call('PATCH', `/keys/${made.body.data.hash}`, { body: { disabled: true } })
      expect(await send(theirs.url, 'upload, finalize', 0, 'x')).toMatchObject({ status: 401 })
    })

    test('bytes sent to a regional host are rejected, as uploads are there', async () => {
      const { url } = await start()
      const headers = { 'x-goog-upload-command': 'query', host: 'eu.example.com' }
      expect((await fetch(url, { method: 'POST', headers })).status).toBe(403)
    })

    test('the scripts of a browser may read where to send the bytes, and how far the upload is', async () => {
      const { headers, url } = await start({}, { origin: 'https://app.example.com' })
      expect(url).not.toBe('')
      const exposed = headers.get('access-control-expose-headers')?.split(', ')
      for (const name of ['url', 'status', 'size-received']) {
        expect(exposed).toContain(`x-goog-upload-${name}`)
      }
    })

    test('S1 an upload URL cannot be forged', async () => {
      const { url } = await start()
      const forged = `${url.slice(0, -4)}AAAA`
      expect(await send(forged, 'upload', 0, 'x')).toMatchObject({
        status: 404,
        error: { status: 'NOT_FOUND' },
      })
    })

    describe('refuses', () => {
      test.each([
        ['another protocol', {}, { 'x-goog-upload-protocol': 'multipart' }, 400, 'x-goog-upload-protocol'],
        ['a name of the client', { file: { name: 'files/mine' } }, {}, 400, 'file.name'],
        ['a size beyond the limit', { file: { sizeBytes: '104857601' } }, {}, 413, 'file'],
        [
          'a size that is none',
          {},
          { 'x-goog-upload-header-content-length': 'x' },
          400,
          'x-goog-upload-header',
        ],
        ['a display name that is no name', { file: { displayName: '../x' } }, {}, 400, 'file'],
      ] as const)('%s', async (_, body, headers, status, field) => {
        const result = await start(body, headers)
        expect(result.status).toBe(status)
        expect(result.body.error.message).toStartWith(field)
      })

      test('a chunk that does not continue the previous one, which is preserved', async () => {
        const { url } = await start()
        await send(url, 'upload', 0, 'hello')
        expect(await send(url, 'upload', 3, 'x')).toMatchObject({
          status: 400,
          error: { message: 'x-goog-upload-offset: must be 5' },
        })
        expect((await send(url, 'upload, finalize', 5, '!')).file?.sizeBytes).toBe('6')
      })

      test('bytes of no accepted type, and nothing of them stays', async () => {
        const { url } = await start()
        const result = await send(url, 'upload, finalize', 0, '\u0001\u0002\u0003\u0000')
        expect(result).toMatchObject({ status: 400, state: 'cancelled' })
        expect(unfinished()).toEqual([])
      })

      test('S13 more unfinished uploads than a workspace may have, however many begin at once', async () => {
        const begun = await Promise.all(Array.from({ length: 24 }, () => start()))
        const urls = begun.filter(({ status }) => status === 200).map(({ url }) => url)
        expect(urls).toHaveLength(16)
        expect(begun.filter(({ status }) => status === 403)).toHaveLength(8)
        expect((await send(urls[0] ?? '', 'cancel')).state).toBe('cancelled')
        expect((await start()).status).toBe(200)
      })

      test('S13 a file larger than may be stored, however its bytes arrived', async () => {
        const { url } = await start()
        await send(url, 'upload', 0, 'hello')
        for (const path of unfinished()) await truncate(path, 100 * 1024 * 1024 + 1)
        expect(await send(url, 'finalize')).toMatchObject({ status: 413, state: 'cancelled' })
        expect(unfinished()).toEqual([])
      })
    })

    describe('one request at a time writes to an upload', () => {
      /** Sends the first bytes, and the rest on demand; resolves once the first are on disk. */
      const sendSlowly = async (url: string, offset: number, [first, ...others]: string[]) => {
        const gate = Promise.withResolvers<void>()
        const body = new ReadableStream({
          async start(controller) {
            controller.enqueue(new TextEncoder().encode(first))
            await gate.promise
            for (const text of others) controller.enqueue(new TextEncoder().encode(text))
            controller.close()
          },
        })
        const headers = { 'x-goog-upload-command': 'upload', 'x-goog-upload-offset': String(offset) }
        const sent = fetch(url, { method: 'POST', headers, body })
        const expected = offset + (first?.length ?? 0)
        while (!unfinished().some((path) => sizeOf(path) === expected)) await Bun.sleep(1)
        return {
          finish: async () => {
            gate.resolve()
            return (await sent).status
          },
        }
      }

      test.each(['upload', 'upload, finalize', 'finalize', 'query', 'cancel'])(
        '%s during a chunk in progress is a 409 that clients retry',
        async (command) => {
          const { url } = await start()
          await send(url, 'upload', 0, 'hello')
          const chunk = await sendSlowly(url, 5, [' ', 'wor', 'ld'])
          expect(await send(url, command, 5, 'other')).toMatchObject({ status: 409, state: null })
          expect(await chunk.finish()).toBe(200)
          const { file } = await send(url, 'finalize')
          expect(file?.sizeBytes).toBe('11')
          const id = file?.name.replace('files/', 'hg_file_')
          expect((await server().call('GET', `/files/${id}/content`)).body).toBe('hello world')
        },
      )

      test('of chunks at the same offset one is accepted', async () => {
        const { url } = await start()
        const chunks = ['a', 'b', 'c'].map((letter) => send(url, 'upload', 0, letter.repeat(50)))
        const statuses = (await Promise.all(chunks)).map(({ status }) => status)
        expect(statuses.filter((status) => status === 200)).toHaveLength(1)
        expect((await send(url, 'finalize')).file?.sizeBytes).toBe('50')
      })

      test('of requests that finish an upload one has the file', async () => {
        const { url } = await start()
        await send(url, 'upload', 0, 'hello')
        const responses = await Promise.all(Array.from({ length: 5 }, () => send(url, 'finalize')))
        const statuses = responses.map(({ status }) => status)
        expect(statuses.filter((status) => status === 200)).toHaveLength(1)
        expect(statuses.filter((status) => status >= 500)).toEqual([])
      })

      test('what a crashed writer left ends the upload and frees its place', async () => {
        const { url } = await start()
        await send(url, 'upload', 0, 'hello')
        const [path = ''] = unfinished()
        renameSync(path, `${path}.${crypto.randomUUID()}`)
        expect((await send(url, 'upload', 5, 'x')).status).toBe(409)
        server().clock.advance(5 * 60 * 1000)
        expect(await send(url, 'upload', 5, 'x')).toMatchObject({ status: 404, state: 'cancelled' })
        server().clock.release()
        expect(unfinished()).toEqual([])
      })
    })

    test('what is abandoned is swept after an hour', async () => {
      const { url } = await start()
      await send(url, 'upload', 0, 'x')
      expect(await sweepFiles(server().gateway)).toBe(0)
      const old = new Date(Date.now() - 2 * 60 * 60 * 1000)
      for (const path of unfinished()) await utimes(path, old, old)
      expect(await sweepFiles(server().gateway)).toBe(1)
      expect(unfinished()).toEqual([])
    })

    test('S3 pages and files are those of the caller', async () => {
      const { url } = await start()
      const { file } = await send(url, 'upload, finalize', 0, 'mine')
      const key = server().foreign.inferenceKey
      const { body } = await server().call('GET', '/v1beta/files?pageSize=100', { key })
      expect(body.files).toEqual([])
      expect((await server().call('GET', `/v1beta/${file?.name}`, { key })).status).toBe(404)
      const first = (await server().call('GET', '/v1beta/files?pageSize=1')).body
      const second = (await server().call('GET', `/v1beta/files?pageSize=1&pageToken=${first.nextPageToken}`))
        .body
      expect(second.files[0].name).not.toBe(first.files[0].name)
      expect((await server().call('GET', '/v1beta/files?pageToken=x')).status).toBe(400)
    })
  },
  { settings },
)
