import { Stack, Text } from '@mantine/core'
import type { ChartMark } from '../../components/chart-marks.tsx'
import { Panel } from '../../components/panel.tsx'
import { TextLink } from '../../components/text-link.tsx'
import { Time } from '../../components/time.tsx'
import { maxAnnotations } from './marked-entries.ts'

/** What the marks of the charts stand for, newest first. */
export function ChangesPanel({ marks }: { marks: readonly ChartMark[] }) {
  if (marks.length === 0) return null
  return (
    <Panel
      title="Changes in this period"
      description={`Prices, guardrails, limits, and keys that were disabled or deleted. Charts mark them on the time axis.${
        marks.length === maxAnnotations ? ` The newest ${maxAnnotations} are shown.` : ''
      }`}
    >
      <Stack component="ul" gap={4} p={0} m={0} style={{ listStyle: 'none' }}>
        {marks.map(({ id, time, label, to, search }) => (
          <li key={id}>
            <Text size="sm" component="div" style={{ overflowWrap: 'anywhere' }}>
              <Text span size="xs" c="dimmed" mr="xs">
                <Time iso={new Date(time).toISOString()} />
              </Text>
              <TextLink {...{ to, search }}>{label}</TextLink>
            </Text>
          </li>
        ))}
      </Stack>
    </Panel>
  )
}
