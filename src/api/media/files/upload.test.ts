import { beforeEach, describe, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { utimes } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describeOnEachDatabase, type TestResponse } from '../../../../test/support/harness.ts'
import { addFile, sumStoredBytes } from './store.ts'
import { sweepFiles } from './sweep.ts'
import { receiveFile } from './upload.ts'
import { maxUploadBytes } from './upload-form.ts'

const type = 'multipart/form-data; boundary=b'
const mebibyte = 1024 * 1024
const maxFileBytes = 100 * mebibyte
const quotaBytes = 10 * 1024 * mebibyte

function filePart(text: string, filename = 'a.txt'): string {
  return `--b\r\nContent-Disposition: form-data; name="file"; filename="${filename}"\r\n\r\n${text}\r\n`
}

function field(name: string, value: string): string {
  return `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
}

describeOnEachDatabase('POST /files', (server) => {
  const folder = () => join(server().gateway.config.dataDir, 'files')
  const onDisk = () => readdirSync(folder()).sort()
  const rows = async () => {
    const found = await server().gateway.db.selectFrom('files').select('id').execute()
    return found.map(({ id }) => id).sort()
  }
  const post = (body: string | FormData, contentType = type): Promise<TestResponse> =>
    server().call('POST', '/files', {
      body,
      ...(typeof body === 'string' && { headers: { 'content-type': contentType } }),
    })
  const form = (text: string, name = 'a.txt') => {
    const body = new FormData()
    body.append('file', new File([text], name))
    return body
  }

  beforeEach(async () => {
    await server().gateway.db.deleteFrom('files').execute()
    for (const name of onDisk()) await Bun.file(join(folder(), name)).delete()
  })

  const nothingLeft = async () => {
    expect(onDisk()).toEqual([])
    expect(await rows()).toEqual([])
  }

  describe('rejects the upload and leaves no file', () => {
    test.each([
      ['JSON', '{}', 'application/json', 'content-type'],
      ['a form without a boundary', filePart('x'), 'multipart/form-data', 'content-type'],
      ['an URL-encoded form', 'file=x', 'application/x-www-form-urlencoded', 'content-type'],
      ['no body', '', type, 'body'],
      ['text that is no form', 'hello', type, 'body'],
      ['a form that ends in the file', filePart('x').slice(0, -4), type, 'body'],
      ['a form without its last delimiter', filePart('x'), type, 'body'],
      ['a part without headers', `--b\r\n\r\n${filePart('x')}--b--\r\n`, type, 'body'],
      ['a form without a file', `${field('purpose', 'batch')}--b--`, type, 'file'],
      ['an empty file', `${filePart('')}--b--`, type, 'file'],
      ['two files', `${filePart('x')}${filePart('y')}--b--`, type, 'file'],
      ['a file field without a filename', `${field('file', 'x')}--b--`, type, 'file'],
      ['a purpose of its own', `${filePart('x')}${field('purpose', 'mine')}--b--`, type, 'purpose'],
      [
        'a purpose twice',
        `${field('purpose', 'batch')}${field('purpose', 'batch')}${filePart('x')}--b--`,
        type,
        'purpose',
      ],
      ['a long field', `${filePart('x')}${field('purpose', 'x'.repeat(2000))}--b--`, type, 'purpose'],
      ['R12 an unknown field', `${filePart('x')}${field('color', 'red')}--b--`, type, 'color'],
      ['a field named __proto__', `${field('__proto__', 'x')}${filePart('x')}--b--`, type, '__proto__'],
      ['an unknown binary', `${filePart('\x00\x01\x02')}--b--`, type, 'file'],
      ['a long unknown binary', `${filePart(`\x00${'x'.repeat(10_000)}`)}--b--`, type, 'file'],
    ])('400 naming the field: %s', async (_, body, contentType, name) => {
      const uploaded = await post(body, contentType)
      expect(uploaded.status).toBe(400)
      expect(uploaded.body.error.message).toStartWith(`${name}:`)
      await nothingLeft()
    })

    test.each([
      '../../etc/passwd',
      '..',
      '.',
      '/etc/passwd',
      'a/../b',
      'a/./b',
      'a//b',
      'folder/',
      '..\\\\..\\\\windows',
      'C:x',
      'a<b',
      'a|b',
      'what?',
      '*.txt',
      'say \\"hi\\"',
      'tab\there',
      'nul\x00',
      'del\x7f',
      '',
      'x'.repeat(256),
    ])('400 for the filename %j', async (filename) => {
      const uploaded = await post(`${filePart('x', filename)}--b--`)
      expect(uploaded.status).toBe(400)
      expect(uploaded.body.error.message).toStartWith('file: the filename')
      await nothingLeft()
    })

    test('403 when the workspace is full', async () => {
      const { organization, workspace } = server().own
      const row = {
        organization_id: organization.id,
        workspace_id: workspace.id,
        filename: 'a',
        mime_type: 'text/plain',
        purpose: 'user_data',
        storage: null,
      }
      const full = { ...row, id: 'hg_file_full', size_bytes: quotaBytes - 3 }
      const { gateway, clock } = server()
      const quota = { quotaBytes, ceilings: gateway.settings.ceilings }
      await gateway.db.transaction().execute((tx) => addFile(tx, clock, full, quota))
      const rejected = await post(form('four'))
      expect(rejected.status).toBe(403)
      expect(rejected.body.error.metadata.reason).toBe('storage_full')
      expect((await post(form('max'))).status).toBe(200)
      expect((await post(form('x'))).status).toBe(403)
      expect(onDisk()).toHaveLength(1)
    })

    test('413 for a declared length beyond the limit, before any of it is sent', async () => {
      const length = maxUploadBytes(server().gateway.settings) + 1
      const uploaded = await raw(server().url, head(server().own.managementKey, `content-length: ${length}`))
      expect(uploaded).toStartWith('HTTP/1.1 413')
      expect(uploaded).toContain('"code":413')
    })

    test('413 for a file beyond 100 MiB that comes in chunks of undeclared number', async () => {
      const chunk = Buffer.alloc(mebibyte, 'a')
      let sent = 0
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          controller.enqueue(sent++ === 0 ? Buffer.from(filePart('a').slice(0, -2)) : chunk)
          if (sent > 110) controller.close()
        },
      })
      const response = await fetch(`${server().url}/api/v1/files`, {
        method: 'POST',
        body,
        headers: { authorization: `Bearer ${server().own.managementKey}`, 'content-type': type },
      })
      expect(response.status).toBe(413)
      expect(await response.json()).toMatchObject({ error: { code: 413 } })
      await nothingLeft()
    })

    test('a client that is gone in the middle', async () => {
      const socket = connect(Number(new URL(server().url).port), '127.0.0.1')
      const start = `${filePart('x'.repeat(200_000)).slice(0, -2)}`
      socket.write(`${head(server().own.managementKey, 'content-length: 1000000')}${start}`)
      await until(() => onDisk().some((name) => name.endsWith('.part')))
      socket.destroy()
      await until(() => onDisk().length === 0)
      await nothingLeft()
    })

    test('503, and no row, when the bytes cannot be stored', async () => {
      const { gateway, own } = server()
      // No server listens on this port.
      const s3 = { endpoint: 'http://127.0.0.1:1', bucket: 'none', region: 'us-east-1', prefix: '' }
      const secrets = { access_key_id: 'a', secret_access_key: 'b' }
      const { settings } = gateway
      Object.assign(gateway, {
        settings: { ...settings, files: { ...settings.files, s3: { ...s3, ...secrets } } },
      })
      try {
        const uploaded = await post(form('x'))
        expect(uploaded.status).toBe(503)
        expect(uploaded.body.error.message).toBe('The file storage is temporarily unavailable. Retry later.')
      } finally {
        Object.assign(gateway, { settings })
      }
      await nothingLeft()
      expect(await sumStoredBytes(gateway.db, own.workspace.id)).toBe(0)
    })

    test('the bytes stay when it is unknown whether the row was stored', async () => {
      const { gateway, own } = server()
      const failing = { execute: () => Promise.reject(new Error('connection lost')) }
      const db = new Proxy(gateway.db, {
        get: (target, name) =>
          name === 'transaction' ? () => failing : Reflect.get(target, name).bind(target),
      })
      const request = new Request('http://localhost/', {
        method: 'POST',
        headers: { 'content-type': type },
        body: `${filePart('x')}--b--`,
      })
      const upload = { gateway: { ...gateway, db }, caller: null, httpRequest: request }
      await expect(receiveFile(upload, own.workspace)).rejects.toThrow('connection lost')
      expect(onDisk()).toEqual([expect.stringMatching(/^hg_file_[0-9a-f]{24}$/)])
    })
  })

  test.each(['a', 'folder/sub folder/a.txt', 'naïve 日本 😀.txt', '...', '😀'.repeat(255), "it's (1).txt"])(
    'the filename %j is stored unchanged, and is never used as a name on disk',
    async (filename) => {
      const uploaded = await post(`${filePart('x', filename)}--b--`)
      expect(uploaded.body.filename).toBe(filename)
      expect(onDisk()).toEqual([uploaded.body.id])
    },
  )

  test('a file of exactly 100 MiB is accepted', async () => {
    const uploaded = await post(form('a'.repeat(maxFileBytes)))
    expect(uploaded.body).toMatchObject({ size_bytes: maxFileBytes, mime_type: 'text/plain' })
  })

  test('50 parallel uploads and deletes: what is listed is on disk, and nothing else', async () => {
    const uploads = await Promise.all(Array.from({ length: 50 }, (_, i) => post(form(`text ${i}`))))
    const ids = uploads.map(({ body }) => body.id as string)
    expect(new Set(ids).size).toBe(50)
    expect(onDisk()).toEqual([...ids].sort())
    const responses = await Promise.all(
      ids.flatMap((id, i) => [
        server().call('DELETE', `/files/${id}`),
        server().call('DELETE', `/files/${id}`),
        post(form(`more ${i}`)),
      ]),
    )
    const statuses = Map.groupBy(responses, ({ status }) => status)
    expect(statuses.get(200)).toHaveLength(100)
    expect(statuses.get(404)).toHaveLength(50)
    expect(onDisk()).toHaveLength(50)
    expect(onDisk()).toEqual(await rows())
  })

  test('the quota holds under parallel uploads', async () => {
    const { own } = server()
    const { settings } = server().gateway
    const files = { ...settings.files, workspace_bytes: 100 }
    const gateway = { ...server().gateway, settings: { ...settings, files } }
    const attempts = Array.from({ length: 30 }, () => {
      const headers = { 'content-type': type }
      const request = new Request('http://localhost/', {
        method: 'POST',
        headers,
        body: `${filePart('0123456789')}--b--`,
      })
      return receiveFile({ gateway, caller: null, httpRequest: request }, own.workspace).then(
        () => 'stored',
        (error: { code: string }) => error.code,
      )
    })
    const results = Map.groupBy(await Promise.all(attempts), (result) => result)
    expect(results.get('stored')).toHaveLength(10)
    expect(results.get('storage_full')).toHaveLength(20)
    expect(await sumStoredBytes(gateway.db, own.workspace.id)).toBe(100)
    expect(onDisk()).toHaveLength(10)
  })

  test('the sweep removes what a crash left for an hour, and only that', async () => {
    const kept = (await post(form('kept'))).body.id as string
    const orphan = 'hg_file_00000000000000000000000a'
    const partial = 'hg_file_00000000000000000000000b.part'
    const stranger = 'notes.txt'
    for (const name of [orphan, partial, stranger]) await Bun.write(join(folder(), name), 'x')
    expect(await sweepFiles(server().gateway)).toBe(0)
    const old = new Date(Date.now() - 61 * 60 * 1000)
    for (const name of [kept, orphan, partial, stranger]) await utimes(join(folder(), name), old, old)
    expect(await sweepFiles(server().gateway)).toBe(2)
    expect(onDisk()).toEqual([kept, stranger].sort())
  })
})

function head(key: string, length: string): string {
  return `POST /v1/files HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\ncontent-type: ${type}\r\n${length}\r\n\r\n`
}

/** The raw response to these bytes; the connection is closed after the first chunk of it. */
async function raw(url: string, text: string): Promise<string> {
  const reply = Promise.withResolvers<string>()
  const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(text))
  socket.once('data', (data) => reply.resolve(data.toString()))
  socket.once('error', reply.reject)
  return reply.promise.finally(() => socket.destroy())
}

async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 10_000
  while (!condition()) {
    if (performance.now() > deadline) throw new Error('the condition was never met')
    await new Promise((resolve) => setImmediate(resolve))
  }
}
