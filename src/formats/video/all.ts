import type { Provider, VideoJobFormat } from '../../catalog/provider.ts'
import type { WireFormatName } from '../vocabulary.ts'
import { geminiVideo } from './gemini.ts'
import { createJobsWireFormat } from './jobs.ts'
import { openaiVideo } from './openai.ts'
import type { VideoWireFormat } from './wire-format.ts'

type VideoWireFormats = Partial<Record<WireFormatName, VideoWireFormat>>

const networkWireFormats: VideoWireFormats = { video: openaiVideo, 'gemini-video': geminiVideo }

/** A provider in this process reads the call itself: nothing is dropped. */
const inProcessWireFormats: VideoWireFormats = {
  video: {
    ...openaiVideo,
    acceptsAudio: true,
    findProblem: () => null,
    encodeRequest: (_, { options }) => ({ path: '/videos', headers: {}, body: options, dropped: [] }),
  },
}

const jobWireFormats = new WeakMap<VideoJobFormat, VideoWireFormats>()

/** The formats of a provider, by name. */
export function listVideoWireFormats({
  videoJobs,
  inProcess,
}: Pick<Provider, 'videoJobs' | 'inProcess'>): VideoWireFormats {
  if (inProcess) return inProcessWireFormats
  if (!videoJobs) return networkWireFormats
  const known = jobWireFormats.get(videoJobs)
  if (known) return known
  const wireFormats = { ...networkWireFormats, 'video-jobs': createJobsWireFormat(videoJobs) }
  jobWireFormats.set(videoJobs, wireFormats)
  return wireFormats
}
