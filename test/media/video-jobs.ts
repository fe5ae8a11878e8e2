import { runVideoJobs } from '../../src/inference/video/worker.ts'
import type { TestResponse, TestServer } from '../support/harness.ts'

/** Creates a job with the inference key of the first organization. */
export function createVideo(
  server: TestServer,
  body: Record<string, unknown>,
  options: { key?: string | null; headers?: Record<string, string> } = {},
): Promise<TestResponse> {
  return server.call('POST', '/videos', {
    key: server.own.inferenceKey,
    body: { model: 'sandbox/filmmaker', prompt: 'A fox', ...body },
    ...options,
  })
}

/** Runs the jobs that are due now. */
export async function runDue({ gateway }: TestServer): Promise<void> {
  await runVideoJobs(gateway)
  await gateway.videoTasks.idle()
}

/** Advances the clock until the job has ended. */
export async function runToEnd(server: TestServer, id: string, stepMs = 2500): Promise<TestResponse['body']> {
  for (let round = 0; round < 50; round++) {
    server.clock.advance(stepMs)
    await runDue(server)
    const { body } = await server.call('GET', `/videos/${id}`)
    if (!['pending', 'in_progress'].includes(body.status)) return body
  }
  throw new Error(`the job ${id} has not ended`)
}
