import { Button, Group, Progress, Text } from '@mantine/core'
import { Money } from '../../../components/money.tsx'
import { formatPlural } from '../../../format/number.ts'
import type { Estimate } from './use-estimate.ts'

interface RunBarProps {
  count: number
  estimate: Estimate | null
  /** The reason nothing can be run. */
  problem: string | undefined
  progress: { done: number; total: number } | null
  spent: number | null
  onRun: () => void
  onCancel: () => void
}

/** Runs and cancels the requests of a matrix, with their cost before and after. */
export function RunBar({ count, estimate, problem, progress, spent, onRun, onCancel }: RunBarProps) {
  if (progress) {
    return (
      <Group gap="md">
        <Button color="red" onClick={onCancel}>
          Cancel
        </Button>
        <Progress
          value={(progress.done / Math.max(progress.total, 1)) * 100}
          aria-label="Progress"
          style={{ flex: '1 1 160px' }}
        />
        <Text size="sm" role="status">
          {progress.done} of {formatPlural(progress.total, 'request')}
        </Text>
      </Group>
    )
  }
  return (
    <Group gap="md">
      <Button onClick={onRun} disabled={problem !== undefined || count === 0}>
        {count === 0 ? 'Run' : `Run ${formatPlural(count, 'request')}`}
      </Button>
      <Text size="sm" c={problem ? 'red' : 'dimmed'} component="div" role="status">
        {problem ?? <EstimateText estimate={estimate} />}
      </Text>
      {spent !== null && (
        <Text size="sm" component="div">
          Spent <Money value={spent} />
        </Text>
      )}
    </Group>
  )
}

function EstimateText({ estimate }: { estimate: Estimate | null }) {
  if (!estimate) return <>The estimated cost appears when every prompt has a text.</>
  const { expected, worstCase, rejected, failed } = estimate
  return (
    <>
      Expected cost <Money value={expected} />, at most <Money value={worstCase} />
      {rejected > 0 && `. ${formatPlural(rejected, 'request')} would be rejected`}
      {failed > 0 && `. ${formatPlural(failed, 'request')} cannot be estimated`}
    </>
  )
}
