import { z } from 'zod'
import { providerPreferences } from '../schema/preferences.ts'
import { sharedFields } from '../schema/shared-fields.ts'
import { videoAspectRatios, videoResolutions } from '../vocabulary.ts'

const maxPromptLength = 50_000
/** Data URLs are bounded by the size of the body. */
const mediaUrl = z
  .string()
  .min(1)
  .regex(/^(?:https?:\/\/|data:)/i, 'must be an http or https URL, or a data URL')
const urlObject = z.strictObject({ url: mediaUrl })
const maxReferences = 16

const frameImage = z
  .strictObject({
    type: z.literal('image_url'),
    image_url: urlObject,
    frame_type: z.enum(['first_frame', 'last_frame']),
  })
  .meta({ id: 'FrameImage' })

const inputReference = z
  .discriminatedUnion('type', [
    z.strictObject({ type: z.literal('image_url'), image_url: urlObject }),
    z.strictObject({ type: z.literal('audio_url'), audio_url: urlObject }),
    z.strictObject({ type: z.literal('video_url'), video_url: urlObject }),
  ])
  .meta({ id: 'VideoInputReference' })

/** Other fields are dropped and reported. */
export const videoRequest = z
  .looseObject({
    model: z.string().min(1),
    prompt: z
      .string()
      .max(maxPromptLength)
      .optional()
      .describe('What the video shows. Required unless there is a frame image or a reference.'),
    duration: z.int().min(1).max(3600).optional().describe('Seconds.'),
    resolution: z.enum(videoResolutions).optional(),
    aspect_ratio: z.enum(videoAspectRatios).optional(),
    size: z
      .string()
      .regex(/^\d{2,5}x\d{2,5}$/, 'must be WxH, such as 1280x720')
      .optional()
      .describe('Instead of `resolution` and `aspect_ratio`.'),
    generate_audio: z.boolean().optional().describe('Defaults to what the model supports.'),
    seed: z.int().min(0).max(4_294_967_295).optional(),
    creativity: z.int().optional(),
    upscale_factor: z.number().positive().max(1000).optional(),
    frame_images: z
      .array(frameImage)
      .max(2)
      .optional()
      .describe('The first and the last picture of the video. With them, `input_references` have no effect.'),
    input_references: z.array(inputReference).max(maxReferences).optional(),
    previous_job_id: z
      .string()
      .min(1)
      .max(64)
      .optional()
      .describe('A completed job of the same model to continue or edit, at the same endpoint.'),
    callback_url: z
      .url({ protocol: /^https?$/ })
      .max(2048)
      .optional()
      .describe('An https URL that receives a webhook when the job ends, instead of the workspace default.'),
    provider: providerPreferences
      .extend({
        options: z
          .record(z.string(), z.record(z.string(), z.unknown()))
          .optional()
          .describe('Parameters for one provider alone, by its slug.'),
      })
      .meta({ id: 'VideoProviderPreferences' })
      .optional(),
    session_id: sharedFields.session_id,
    trace: sharedFields.trace,
    user: z.string().max(256).optional(),
    seconds: z
      .union([z.int().min(1).max(3600), z.string().regex(/^[1-9]\d{0,3}$/)], 'must be a number of seconds')
      .optional()
      .describe('`duration`, as the OpenAI SDKs name it.'),
    input_reference: z
      .union(
        [mediaUrl, z.strictObject({ image_url: mediaUrl })],
        'must be an image: a file in a form, or {"image_url": "..."}',
      )
      .optional()
      .describe('The first picture of the video, as the OpenAI SDKs name it.'),
  })
  .meta({ id: 'VideoGenerationRequest' })

export type VideoRequestBody = z.output<typeof videoRequest>

/** The fields of a request that change nothing: unknown ones, and references beside frames. */
export function listIneffectiveFields(body: VideoRequestBody): string[] {
  const unknown = Object.keys(body).filter((name) => !Object.hasOwn(videoRequest.shape, name))
  return hasOverriddenReferences(body) ? [...unknown, 'input_references'] : unknown
}

/** A video begins or ends with frames, or is made after references: frames win. */
export function hasOverriddenReferences({
  frame_images = [],
  input_references = [],
}: VideoRequestBody): boolean {
  return frame_images.length > 0 && input_references.length > 0
}
