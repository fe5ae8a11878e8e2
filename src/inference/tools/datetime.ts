import { z } from 'zod'
import { defineServerTool } from './tool.ts'

const name = 'datetime'
const defaultTimeZone = 'UTC'
const timeZone = z.string().refine(isTimeZone, 'must be an IANA time zone, such as Europe/Paris')

export const datetime = defineServerTool({
  name,
  formats: ['chat', 'messages', 'responses'],
  parameters: z.looseObject({ timezone: timeZone.optional() }),
  create: ({ timezone = defaultTimeZone }) => ({
    functions: [
      {
        kind: 'function',
        name,
        description: `The current date and time in the time zone ${timezone}.`,
        schema: { type: 'object', properties: {} },
      },
    ],
    describe: () => ({ item: { type: 'service:datetime', datetime: '', timezone } }),
    run: async (_call, { gateway }) => {
      const now = { datetime: formatInZone(gateway.clock.now(), timezone), timezone }
      return { content: [{ kind: 'text', text: JSON.stringify(now) }], item: now }
    },
  }),
})

function isTimeZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone })
    return true
  } catch {
    return false
  }
}

/** ISO 8601 with the offset of the zone at that time, such as `2026-07-01T14:00:00+02:00`. */
function formatInZone(at: number, zone: string): string {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    timeZoneName: 'longOffset',
  })
  const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]))
  const offset = parts.timeZoneName?.replace('GMT', '') || '+00:00'
  return `${parts.year}-${parts.month}-${parts.day}T${parts.hour}:${parts.minute}:${parts.second}${offset}`
}
