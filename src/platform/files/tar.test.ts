import { describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { encodeTarHeader, encodeTarPadding, readTar, tarEnd } from './tar.ts'

const longName = `${'folder/'.repeat(20)}${'n'.repeat(90)}`
const files: [string, string][] = [
  ['a.txt', 'hello'],
  ['empty', ''],
  ['block', 'x'.repeat(512)],
  [longName, 'long'],
]

function encode(): Buffer {
  const parts = files.flatMap(([name, text]) => [
    encodeTarHeader(name, text.length, 1_700_000_000_000),
    Buffer.from(text),
    encodeTarPadding(text.length),
  ])
  return Buffer.concat([...parts, tarEnd])
}

async function* cut(bytes: Uint8Array, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function read(bytes: Uint8Array, size = 100): Promise<[string, string][]> {
  const found: [string, string][] = []
  for await (const { name, body } of readTar(cut(bytes, size))) {
    const parts = await Array.fromAsync(body)
    found.push([name, Buffer.concat(parts).toString()])
  }
  return found
}

describe('a tar archive', () => {
  test('is read as it was written, whatever the size of its chunks', async () => {
    for (const size of [1, 511, 512, 10_000]) expect(await read(encode(), size)).toEqual(files)
  })

  test('a body that is not read is skipped', async () => {
    const names: string[] = []
    for await (const { name } of readTar(cut(encode(), 700))) names.push(name)
    expect(names).toEqual(files.map(([name]) => name))
  })

  test('the system tar lists it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'headgate-tar-'))
    const path = join(folder, 'a.tar')
    await Bun.write(path, encode())
    const { stdout } = Bun.spawnSync(['tar', '-tf', path])
    expect(stdout.toString().trim().split('\n')).toEqual(files.map(([name]) => name))
    rmSync(folder, { recursive: true })
  })

  test('a size beyond eight gigabytes is read again', async () => {
    const size = 9 * 2 ** 30
    const entries = readTar(cut(encodeTarHeader('big', size, 0), 512))
    expect((await entries.next()).value).toMatchObject({ name: 'big', size })
  })

  test('one that is cut or damaged is an error', async () => {
    const bytes = encode()
    const cutAt = [1, 512, 600, 1500, bytes.length - tarEnd.length]
    for (const at of cutAt) await expect(read(bytes.subarray(0, at))).rejects.toThrow('it ends too early')
    const damaged = Buffer.from(bytes)
    damaged[3] = 0x21
    await expect(read(damaged)).rejects.toThrow('an entry is damaged')
  })
})
