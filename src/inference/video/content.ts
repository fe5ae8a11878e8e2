import { mkdir, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Gateway } from '../../gateway/gateway.ts'
import { newId } from '../../platform/crypto/ids.ts'
import { GatewayError, gatewayError } from '../../platform/errors/gateway-error.ts'
import { parseRange } from '../../platform/http/http-range.ts'
import { isoNow } from '../../platform/time/clock.ts'
import { openContents, type VideoJob } from '../../storage/video-jobs.ts'
import { UpstreamError, unexpectedReplyError } from '../failures/errors.ts'
import { resolveVideoFolder } from './sweep.ts'
import { openJobUpstream } from './upstream.ts'

function resolveVideoPath(gateway: Gateway, jobId: string, index: number): string {
  return join(resolveVideoFolder(gateway), `${jobId}-${index}.mp4`)
}

/** Stores a video completely or not at all. */
export async function storeVideo(
  gateway: Gateway,
  jobId: string,
  index: number,
  chunks: AsyncIterable<Uint8Array>,
): Promise<void> {
  await mkdir(resolveVideoFolder(gateway), { recursive: true })
  const path = resolveVideoPath(gateway, jobId, index)
  const partial = `${path}.${newId('part')}`
  const file = await open(partial, 'wx')
  try {
    await writeVideo(file, chunks, gateway.settings.videos.max_bytes)
    await file.sync()
    await file.close()
    await rename(partial, path)
  } catch (error) {
    await file.close().catch(() => undefined)
    await rm(partial, { force: true })
    throw error
  }
}

async function writeVideo(
  file: Awaited<ReturnType<typeof open>>,
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<void> {
  let size = 0
  let head = Buffer.alloc(0)
  for await (const chunk of chunks) {
    size += chunk.length
    if (size > maxBytes) throw unexpectedReplyError('The video of the provider is too large.')
    if (head.length < headBytes) head = Buffer.concat([head, chunk.subarray(0, headBytes)])
    await file.write(chunk)
  }
  if (!isMp4(head)) throw unexpectedReplyError('The provider sent something else than an MP4 video.')
}

const headBytes = 12

/** Whether the first box is the type of an MP4 file. */
function isMp4(head: Buffer): boolean {
  return head.length >= headBytes && head.toString('latin1', 4, 8) === 'ftyp'
}

/** A video of a completed job, whole or a range of it. */
export async function readVideo(
  gateway: Gateway,
  job: VideoJob,
  index: number,
  httpRequest: Request,
): Promise<Response> {
  const urls = assertStored(gateway, job)
  const url = urls[index]
  if (url === undefined) throw gatewayError('not_found', `index: the job has ${urls.length} videos, from 0.`)
  return respondWithFile(await openVideo(gateway, job, index, url), httpRequest)
}

/** All videos of a completed job. */
export async function openVideos(gateway: Gateway, job: VideoJob): Promise<ReadableStream<Uint8Array>[]> {
  const urls = assertStored(gateway, job)
  const files = await Promise.all(urls.map((url, index) => openVideo(gateway, job, index, url)))
  return files.map((file) => file.stream())
}

async function openVideo(gateway: Gateway, job: VideoJob, index: number, url: string): Promise<Bun.BunFile> {
  const path = resolveVideoPath(gateway, job.id, index)
  if (!(await Bun.file(path).exists())) await fetchAgain(gateway, job, index, url)
  return Bun.file(path)
}

function assertStored(gateway: Gateway, job: VideoJob): string[] {
  if (job.status !== 'completed')
    throw gatewayError('conflict', `The job has no video: its status is ${job.status}.`)
  const isExpired = job.content_expires_at !== null && job.content_expires_at < isoNow(gateway.clock)
  if (job.contents === null || isExpired) throw gatewayError('gone', 'The video has expired and was deleted.')
  return openContents(gateway.vault, job)
}

/** Downloads a video on a node that did not complete the job: it has a data directory of its own. */
async function fetchAgain(gateway: Gateway, job: VideoJob, index: number, url: string): Promise<void> {
  try {
    await gateway.videoTasks.run(`${job.id} ${index}`, async () => {
      const upstream = await openJobUpstream(gateway, job)
      await storeVideo(gateway, job.id, index, upstream.download(url))
    })
  } catch (cause) {
    const message = 'The video could not be downloaded from the provider. Retry later.'
    throw cause instanceof UpstreamError ? new GatewayError('upstream_failed', { message, cause }) : cause
  }
}

/** One range of a file (RFC 9110); several are answered with the whole file. */
function respondWithFile(file: Bun.BunFile, { headers }: Request): Response {
  const common = {
    'content-type': 'video/mp4',
    'accept-ranges': 'bytes',
    'x-content-type-options': 'nosniff',
  }
  const size = file.size
  // The condition of a partial request cannot be met: no validator was sent.
  const range = headers.has('if-range') ? null : parseRange(headers.get('range'), size)
  if (range === null) return new Response(file, { headers: { ...common, 'content-length': String(size) } })
  if (range === 'unsatisfiable')
    throw new GatewayError('range_unsatisfiable', { headers: { 'content-range': `bytes */${size}` } })
  const { start, end } = range
  return new Response(file.slice(start, end), {
    status: 206,
    headers: {
      ...common,
      'content-range': `bytes ${start}-${end - 1}/${size}`,
      'content-length': String(end - start),
    },
  })
}

/** Deletes the videos of a job; those of other nodes are swept. */
export async function removeVideos(gateway: Gateway, job: VideoJob): Promise<void> {
  const count = openContents(gateway.vault, job).length
  for (let index = 0; index < count; index++)
    await rm(resolveVideoPath(gateway, job.id, index), { force: true })
}
