import { SegmentedControl } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import { type HomeSearch, periods } from './search.ts'

export function PeriodControl({ search }: { search: HomeSearch }) {
  const navigate = useNavigate({ from: '/' })
  return (
    <SegmentedControl
      size="xs"
      aria-label="Period"
      data={Object.entries(periods).map(([value, { label }]) => ({ value, label }))}
      value={search.period ?? 'day'}
      onChange={(value) => {
        const { period: _, ...rest } = search
        void navigate({ search: value === 'week' ? { ...rest, period: value } : rest, replace: true })
      }}
    />
  )
}
