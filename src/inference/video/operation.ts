import { resolvePublicUrl } from '../../access/origin.ts'
import {
  encodeCloudOperation,
  encodeVideoOperation,
  type VideoOperation,
  writeCloudVideos,
} from '../../formats/gemini/video.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import { isActive, type VideoJob } from '../../storage/video-jobs.ts'
import { openVideos } from './content.ts'
import { listContentUrls } from './record.ts'

/** A job as an operation of the Gemini format. */
export function toVideoOperation(
  gateway: Gateway,
  job: VideoJob,
  request: Request,
): JsonObject & { name: string } {
  return encodeVideoOperation(describeJob(gateway, job, request))
}

/** A job as an operation of the cloud, which belongs to a model. */
export function toCloudOperation(
  gateway: Gateway,
  job: VideoJob,
  modelPath: string,
  request: Request,
): JsonObject & { name: string } {
  return encodeCloudOperation(describeJob(gateway, job, request), modelPath)
}

/** The same with the videos, if the job is completed. */
export async function respondWithCloudOperation(
  gateway: Gateway,
  job: VideoJob,
  modelPath: string,
  request: Request,
): Promise<Response> {
  const operation = toCloudOperation(gateway, job, modelPath, request)
  if (job.status !== 'completed') return Response.json(operation)
  const parts = writeCloudVideos(operation, await openVideos(gateway, job))
  return new Response(toByteStream(parts), {
    // Not collected in memory to be compressed.
    headers: { 'content-type': 'application/json;charset=utf-8', 'cache-control': 'no-transform' },
  })
}

/** Pulled as the client reads, so that a large video is not in memory. */
function toByteStream(parts: AsyncGenerator<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await parts.next()
      if (done) controller.close()
      else controller.enqueue(encoder.encode(value))
    },
    async cancel() {
      await parts.return(undefined)
    },
  })
}

function describeJob(gateway: Gateway, job: VideoJob, request: Request): VideoOperation {
  const isCompleted = job.status === 'completed'
  return {
    id: job.id,
    model: job.model,
    progress: isCompleted ? 100 : job.progress,
    isDone: !isActive(job),
    error: isCompleted ? null : (job.error ?? `The job is ${job.status}.`),
    urls: isCompleted ? listContentUrls(gateway, job, resolvePublicUrl(gateway, request)) : [],
  }
}
