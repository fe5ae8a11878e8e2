import { z } from 'zod'
import { secretField, urlField } from '../../../delivery/destinations/destination.ts'
import { omitUndefined } from '../../../platform/json/json-values.ts'
import {
  buildVerdict,
  defineCheckService,
  listObjects,
  requireBoolean,
  requireObject,
  trimSlash,
} from './service.ts'

/** Lakera Guard. Which detectors run is a setting of its project. */
export const lakera = defineCheckService({
  type: 'lakera',
  name: 'Lakera Guard',
  fields: {
    url: urlField.default('https://api.lakera.ai'),
    api_key: secretField,
    project_id: z.string().min(1).max(200).optional(),
  },
  secrets: ['api_key'],
  address: 'url',
  canRedact: false,
  maxCharacters: 100_000,
  target: ({ url }) => url,
  check: async ({ url, api_key, project_id }, { text, direction }, post) => {
    const role = direction === 'input' ? 'user' : 'assistant'
    const messages = [{ role, content: text }]
    const reply = requireObject(
      await post({
        url: `${trimSlash(url)}/v2/guard`,
        headers: { authorization: `Bearer ${api_key}` },
        body: JSON.stringify(omitUndefined({ messages, project_id, breakdown: true })),
      }),
    )
    const detected = listObjects(reply.breakdown).filter((detector) => detector.detected === true)
    return buildVerdict(
      requireBoolean(reply.flagged),
      detected.map(({ detector_type }) => detector_type),
    )
  },
})
