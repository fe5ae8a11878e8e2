/** One video job at the vendor. */
interface VendorJob {
  /** Prompt, with the number that the client gave it. */
  prompt: string
  polls: number
}

export interface WebhookRecord {
  key: string
  type: string
}

export interface VideoVendor {
  url: string
  /** `host:port` */
  address: string
  jobs: VendorJob[]
  webhooks: WebhookRecord[]
  stop(): Promise<void>
}

/** An MP4 without any picture. */
const video = Buffer.concat([Buffer.from([0, 0, 0, 16]), Buffer.from('ftypisom\0\0\0\0')])

/** A provider of video jobs, which are done after two polls, and a receiver of webhooks. */
export function startVideoVendor(): VideoVendor {
  const jobs: VendorJob[] = []
  const webhooks: WebhookRecord[] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => {
      const { pathname } = new URL(request.url)
      if (pathname === '/hook') {
        const { type } = (await request.json()) as { type: string }
        webhooks.push({ key: request.headers.get('x-service-idempotency-key') ?? '', type })
        return new Response()
      }
      if (request.method === 'POST') {
        const { prompt } = (await request.json()) as { prompt: string }
        return Response.json({ id: `job-${jobs.push({ prompt, polls: 0 })}`, status: 'queued' })
      }
      const [, number = '', content] = /job-(\d+)(\/content)?$/.exec(pathname) ?? []
      const job = jobs[Number(number) - 1]
      if (!job) return Response.json({ error: { message: 'no such job' } }, { status: 404 })
      if (content) return new Response(video, { headers: { 'content-type': 'video/mp4' } })
      const status = ++job.polls > 1 ? 'completed' : 'in_progress'
      return Response.json({ id: `job-${number}`, status, progress: 50, seconds: '4' })
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}/v1`,
    address: `127.0.0.1:${server.port}`,
    jobs,
    webhooks,
    stop: () => server.stop(true),
  }
}

export const videoCost = 400_000_000n

export function buildVideoSettings({ url, address }: VideoVendor): string {
  return `
egress: { allow_private: ["${address}"] }
providers:
  - { slug: film-vendor, name: Films, base_url: "${url}", dialects: [video], api_key: vendor-key }
models:
  - id: faults/film
    name: Film
    output_modalities: [video]
    video: { supported_durations: [4], pricing_skus: { per_second: "0.1" } }
    endpoints: [{ provider: film-vendor, upstream_model: film }]
`
}
