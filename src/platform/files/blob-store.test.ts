import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hasS3, newS3Options } from '../../../test/support/s3.ts'
import type { BlobStore } from './blob-store.ts'
import { DiskStore } from './disk-store.ts'
import { S3Store } from './s3-store.ts'

const scratch = mkdtempSync(join(tmpdir(), 'headgate-blobs-'))
afterAll(() => rmSync(scratch, { recursive: true }))

function openDiskStore(): BlobStore {
  const folder = join(scratch, 'store')
  mkdirSync(folder, { recursive: true })
  return new DiskStore(folder)
}

const kinds: [string, () => BlobStore][] = [
  ['disk', openDiskStore],
  ...(hasS3 ? [['S3', () => new S3Store(newS3Options())] as [string, () => BlobStore]] : []),
]

describe.each(kinds)('blobs on %s', (_, open) => {
  const store = open()
  const put = async (key: string, text: string) => {
    const path = join(scratch, `${key}.upload`)
    await Bun.write(path, text)
    await store.put(key, path)
  }
  const read = async (key: string, range?: { start: number; end: number }) => {
    const body = await store.read(key, range)
    return body && new Response(body).text()
  }

  test('are read as they were stored, as a whole and in parts', async () => {
    await put('hg_a', 'hello world')
    expect(await read('hg_a')).toBe('hello world')
    expect(await read('hg_a', { start: 0, end: 5 })).toBe('hello')
    expect(await read('hg_a', { start: 6, end: 11 })).toBe('world')
    expect(await read('hg_a', { start: 3, end: 3 })).toBe('')
  })

  test('are replaced under the same key', async () => {
    await put('hg_b', 'first')
    await put('hg_b', 'second')
    expect(await read('hg_b')).toBe('second')
  })

  test('are gone once deleted, and deleting again is no error', async () => {
    await put('hg_c', 'x')
    await store.delete('hg_c')
    await store.delete('hg_c')
    expect(await read('hg_c')).toBeNull()
    expect(await read('hg_c', { start: 0, end: 1 })).toBeNull()
  })

  test('are listed with their time', async () => {
    await put('hg_d', 'x')
    const blobs = (await Array.fromAsync(store.list())).flat()
    const found = blobs.find(({ key }) => key === 'hg_d')
    expect(Math.abs((found?.modifiedAt ?? 0) - Date.now())).toBeLessThan(60_000)
    expect(blobs.map(({ key }) => key)).not.toContain('hg_c')
  })
})

test('a file that disappears while a folder is listed is left out', async () => {
  const folder = mkdtempSync(join(scratch, 'gone-'))
  const path = join(folder, 'hg_x')
  await Bun.write(path, 'x')
  await utimes(path, new Date(0), new Date(0))
  const listing = new DiskStore(folder).list()
  rmSync(path)
  expect((await Array.fromAsync(listing)).flat()).toEqual([])
})

describe.if(hasS3)('an S3 store that refuses or fails', () => {
  let wrong: S3Store
  beforeAll(() => {
    wrong = new S3Store({ ...newS3Options(), secretAccessKey: 'wrong-secret' })
  })

  test('S6 the error has nothing of the credential or of the signed URL', async () => {
    const path = join(scratch, 'refused')
    await Bun.write(path, 'x')
    const requests = [() => wrong.put('hg_a', path), () => wrong.read('hg_a'), () => wrong.delete('hg_a')]
    for (const request of requests) {
      const error = await request().catch((reason: unknown) => reason)
      expect(String(error)).toMatch(/^Error: The store responded to an? \w+ with 403\.$/)
    }
    const error = await Array.fromAsync(wrong.list()).catch((reason: unknown) => reason)
    expect(String(error)).toMatch(/^Error: The store could not be used \(\w+\)\.$/)
  })

  test('nobody listens: the attempts are repeated, then the store is reported as unusable', async () => {
    // A reserved port, on which nobody listens.
    const gone = new S3Store({ ...newS3Options(), endpoint: 'http://127.0.0.1:1' })
    const error = await gone.read('hg_a').catch((reason: unknown) => reason)
    expect(String(error)).toStartWith('Error: The store could not be used')
  })

  test('a list of several pages is read to its end', async () => {
    const { prefix, ...options } = newS3Options()
    const keys = ['hg_1', 'hg_2', 'hg_3'].map((key) => prefix + key)
    /** One object on each page. */
    const bucket = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: ({ url }) => {
        const at = keys.indexOf(new URL(url).searchParams.get('start-after') ?? '') + 1
        const object = `<Contents><Key>${keys[at]}</Key><LastModified>2026-01-01T00:00:00Z</LastModified></Contents>`
        const isTruncated = `<IsTruncated>${at < keys.length - 1}</IsTruncated>`
        return new Response(`<ListBucketResult>${isTruncated}${object}</ListBucketResult>`)
      },
    })
    try {
      const pages = await Array.fromAsync(
        new S3Store({ ...options, prefix, endpoint: bucket.url.origin }).list(),
      )
      expect(pages.map((page) => page.map(({ key }) => key))).toEqual([['hg_1'], ['hg_2'], ['hg_3']])
    } finally {
      await bucket.stop(true)
    }
  })

  test('a temporary error is retried', async () => {
    let requests = 0
    const flaky = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: () => (requests++ === 0 ? new Response('slow down', { status: 503 }) : new Response('bytes')),
    })
    try {
      const store = new S3Store({ ...newS3Options(), endpoint: flaky.url.origin })
      expect(await new Response((await store.read('hg_a')) ?? undefined).text()).toBe('bytes')
      expect(requests).toBe(2)
    } finally {
      await flaky.stop(true)
    }
  })
})
