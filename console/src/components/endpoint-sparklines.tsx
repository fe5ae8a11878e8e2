import { Table, type TableTdProps, Text } from '@mantine/core'
import type { Schemas } from '../api/client.ts'
import { formatDuration } from '../format/number.ts'
import { Sparkline } from './sparkline.tsx'
import { UptimeStrip } from './uptime-strip.tsx'

interface EndpointSparklinesProps extends Pick<TableTdProps, 'visibleFrom'> {
  health: Schemas['EndpointHealth'] | undefined
}

/** Cells with the uptime, the time to the first token and the throughput of the last 24 hours. */
export function EndpointSparklines({ health, ...cell }: EndpointSparklinesProps) {
  const hours = health?.hours ?? []
  const uptime = health?.uptime_last_1d ?? null
  const latency = health?.latency_last_30m?.p50 ?? null
  const speed = health?.throughput_last_30m?.p50 ?? null
  const latencyText = latency === null ? '–' : formatDuration(latency)
  const speedText = speed === null ? '–' : String(Math.round(speed))
  return (
    <>
      <Table.Td {...cell}>
        <Text size="sm">{uptime === null ? '–' : `${Math.round(uptime * 10) / 10}%`}</Text>
        <UptimeStrip name={health?.tag ?? ''} hours={hours} />
      </Table.Td>
      <Table.Td {...cell}>
        <Text size="sm">{latencyText}</Text>
        <Sparkline
          label={`Median time to the first token by hour, now ${latencyText}`}
          values={hours.map((hour) => hour.latency_p50)}
        />
      </Table.Td>
      <Table.Td {...cell}>
        <Text size="sm">{speedText}</Text>
        <Sparkline
          label={`Median tokens per second by hour, now ${speedText}`}
          values={hours.map((hour) => hour.throughput_p50)}
        />
      </Table.Td>
    </>
  )
}
