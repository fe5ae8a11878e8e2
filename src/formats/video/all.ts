import type { Provider, VideoJobFormat } from '../../catalog/provider.ts'
import type { DialectName } from '../vocabulary.ts'
import type { VideoDialect } from './dialect.ts'
import { geminiVideo } from './gemini.ts'
import { createJobsDialect } from './jobs.ts'
import { openaiVideo } from './openai.ts'

type VideoDialects = Partial<Record<DialectName, VideoDialect>>

const networkDialects: VideoDialects = { video: openaiVideo, 'gemini-video': geminiVideo }

/** A provider in this process reads the call itself: nothing is dropped. */
const inProcessDialects: VideoDialects = {
  video: {
    ...openaiVideo,
    acceptsAudio: true,
    findProblem: () => null,
    encodeRequest: (_, { options }) => ({ path: '/videos', headers: {}, body: options, dropped: [] }),
  },
}

const jobDialects = new WeakMap<VideoJobFormat, VideoDialects>()

/** The formats of a provider, by name. */
export function listVideoDialects({
  videoJobs,
  inProcess,
}: Pick<Provider, 'videoJobs' | 'inProcess'>): VideoDialects {
  if (inProcess) return inProcessDialects
  if (!videoJobs) return networkDialects
  const known = jobDialects.get(videoJobs)
  if (known) return known
  const dialects = { ...networkDialects, 'video-jobs': createJobsDialect(videoJobs) }
  jobDialects.set(videoJobs, dialects)
  return dialects
}
