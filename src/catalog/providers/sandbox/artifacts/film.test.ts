import { expect, test } from 'bun:test'
import { crc32 } from 'node:zlib'
import { type FilmOptions, renderFilm } from './film.ts'

const options: FilmOptions = {
  text: 'A red fox',
  width: 320,
  height: 180,
  seconds: 6,
  withAudio: false,
  seed: 1,
}
const containers = new Set(['moov', 'trak', 'mdia', 'minf', 'dinf', 'stbl'])

interface Box {
  path: string
  start: number
  content: Buffer
}

async function render(changes: Partial<FilmOptions> = {}): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(renderFilm({ ...options, ...changes })))
}

function readBoxes(file: Buffer, from = 0, to = file.length, parent = ''): Box[] {
  const boxes: Box[] = []
  let at = from
  while (at < to) {
    const size = file.readUInt32BE(at)
    const type = file.toString('latin1', at + 4, at + 8)
    expect(at + size).toBeLessThanOrEqual(to)
    boxes.push({ path: `${parent}${type}`, start: at + 8, content: file.subarray(at + 8, at + size) })
    if (containers.has(type)) boxes.push(...readBoxes(file, at + 8, at + size, `${parent}${type}/`))
    at += size
  }
  expect(at).toBe(to)
  return boxes
}

function numbersOf(content: Buffer): number[] {
  return Array.from({ length: Math.floor(content.length / 4) }, (_, index) => content.readUInt32BE(index * 4))
}

/** The samples of each track, by its tables. */
function readTracks(file: Buffer) {
  const boxes = readBoxes(file)
  const all = (name: string) => boxes.filter(({ path }) => path.endsWith(name)).map(({ content }) => content)
  return all('stsz').map((sizes, track) => {
    const [, , count, ...lengths] = numbersOf(sizes)
    expect(lengths).toHaveLength(count!)
    let at = numbersOf(all('stco')[track]!)[2]!
    const samples = lengths.map((length) => {
      at += length
      return file.subarray(at - length, at)
    })
    const [, , , timescale, duration] = numbersOf(all('mdhd')[track]!) as [
      number,
      number,
      number,
      number,
      number,
    ]
    const [, , ...times] = numbersOf(all('stts')[track]!)
    const total = times.reduce((sum, value, index) => sum + (index % 2 ? value * times[index - 1]! : 0), 0)
    expect(total).toBe(duration)
    return { samples, end: at, timescale, duration, description: all('stsd')[track]! }
  })
}

test('the index comes first, and its offsets cover the data exactly', async () => {
  const file = await render({ withAudio: true })
  const boxes = readBoxes(file)
  expect(boxes.filter(({ path }) => !path.includes('/')).map(({ path }) => path)).toEqual([
    'ftyp',
    'moov',
    'mdat',
  ])
  const tracks = readTracks(file)
  expect(tracks).toHaveLength(2)
  expect(tracks[0]!.samples[0]!.byteOffset - file.byteOffset).toBe(boxes.at(-1)!.start)
  expect(tracks[1]!.samples[0]!.byteOffset - file.byteOffset).toBe(tracks[0]!.end)
  expect(tracks[1]!.end).toBe(file.length)
})

test.each([1 / 24, 1.5, 6, 60])('a film of %d seconds has exactly that duration', async (seconds) => {
  const file = await render({ seconds, withAudio: true })
  const movie = readBoxes(file).find(({ path }) => path === 'moov/mvhd')!
  expect(movie.content.readUInt32BE(16)).toBe(Math.round(seconds * 1000))
  for (const { duration, timescale } of readTracks(file)) expect(duration / timescale).toBeCloseTo(seconds, 4)
})

test('every frame is one slice, and the first is listed as the key frame', async () => {
  const file = await render()
  const [{ samples }] = readTracks(file) as [ReturnType<typeof readTracks>[0]]
  const types = samples.map((sample) => {
    expect(sample.readUInt32BE(0)).toBe(sample.length - 4)
    expect(sample.indexOf(Buffer.from([0, 0, 1]), 4)).toBe(-1)
    expect(sample.indexOf(Buffer.from([0, 0, 0]), 4)).toBe(-1)
    return sample[4]! & 31
  })
  expect(types).toEqual([5, ...Array<number>(6 * 24 - 1).fill(1)])
  const listed = readBoxes(file).find(({ path }) => path.endsWith('stss'))!
  expect(numbersOf(listed.content)).toEqual([0, 1, 1])
})

test('the parameter sets state constrained baseline', async () => {
  const [{ description }] = readTracks(await render()) as [ReturnType<typeof readTracks>[0]]
  const at = description.indexOf('avcC') + 4
  expect(description.subarray(at, at + 4)).toEqual(Buffer.of(1, 66, 0xc0, 20))
  const length = description.readUInt16BE(at + 6)
  expect(description[at + 8]! & 31).toBe(7)
  expect(description[at + 8 + length + 3]! & 31).toBe(8)
})

test('sound is AAC, and silent', async () => {
  const [{ samples, description, timescale }] = readTracks(await render({ withAudio: true })) as [
    ReturnType<typeof readTracks>[0],
  ]
  expect(description.includes('mp4a')).toBe(true)
  expect(timescale).toBe(48_000)
  expect(samples).toHaveLength(Math.ceil((6 * 48_000) / 1024))
  expect(new Set(samples.map((sample) => sample.toString('hex')))).toEqual(new Set(['00000007']))
})

test('the same words and seed give the same film, of bounded size', async () => {
  const file = await render()
  expect((await render()).equals(file)).toBe(true)
  expect((await render({ seed: 2 })).equals(file)).toBe(false)
  const large = await render({ text: 'many words '.repeat(500), width: 1920, height: 1080, seconds: 8 })
  expect(large.length).toBeLessThan(12_000_000)
})

/** Fails if the bytes change. Then play the film: it must show the words from its first to its last moment. */
test('a film is the one that Chromium played without an error', async () => {
  expect(crc32(await render({ withAudio: true }))).toBe(3194386420)
})

test('sizes and lengths that it cannot make are refused', async () => {
  for (const changes of [
    { width: 321 },
    { height: 32 },
    { width: 4098, height: 4098 },
    { seconds: 0 },
    { seconds: 61 },
  ]) {
    await expect(render(changes)).rejects.toThrow(RangeError)
  }
})
