import {
  Button,
  Group,
  Popover,
  SegmentedControl,
  Select,
  Stack,
  Switch,
  Text,
  TextInput,
} from '@mantine/core'
import { useState } from 'react'
import { useWorkspace } from '../../app/workspace.tsx'
import { workspaceField } from '../../components/filter-fields.ts'
import { ScreenFilters } from '../../components/screen-filters.tsx'
import { formatLocalInput } from '../../format/local-input.ts'
import { activityFields } from './filters.ts'
import { GroupSelect } from './group-select.tsx'
import { metricOf, rankings } from './metrics.ts'
import { type ActivitySearch, isLongRange, type PeriodName, periods, type Range } from './search.ts'
import { filtersOf, type View } from './view.ts'

/** The filters, the period, the grouping and the comparison. */
export function Controls({ view }: { view: View }) {
  return (
    <Stack gap="sm">
      <Filters view={view} />
      <Group gap="sm" align="flex-end">
        <GroupSelect view={view} />
        <Select
          label="Largest by"
          size="xs"
          w={130}
          allowDeselect={false}
          disabled={view.group === 'none'}
          data={rankings.map((value) => ({
            value,
            label: metricOf(value).label,
            disabled: metricOf(value).isShort && isLongRange(view.range),
          }))}
          value={view.ranking}
          onChange={(metric) => view.change({ metric: (metric ?? undefined) as ActivitySearch['metric'] })}
        />
        <SegmentedControl
          size="xs"
          aria-label="Chart type"
          data={[
            { value: 'bars', label: 'Bars' },
            { value: 'lines', label: 'Lines' },
          ]}
          value={view.chart}
          onChange={(chart) => view.change({ chart: chart as ActivitySearch['chart'] })}
        />
        <Switch
          size="sm"
          label="Compare with the previous period"
          checked={view.previous !== null}
          onChange={(event) => view.change({ compare: event.currentTarget.checked || undefined })}
        />
      </Group>
    </Stack>
  )
}

function Filters({ view }: { view: View }) {
  const { id: menuWorkspace } = useWorkspace()
  // The workspace of the menu takes precedence.
  const values = activityFields.values.filter((field) => menuWorkspace === null || field !== workspaceField)
  return (
    <ScreenFilters
      label="Search activity"
      placeholder="model:openai/gpt-5 key:checkout -user:42 tag:project=apollo"
      fields={{ ...activityFields, values }}
      filters={{ ...filtersOf(view) }}
      onChange={(filters) => view.change(filters)}
    >
      <PeriodControl view={view} />
    </ScreenFilters>
  )
}

function PeriodControl({ view: { search, range, change } }: { view: View }) {
  const isCustom = search.from !== undefined
  return (
    <Group gap="xs" align="flex-end">
      <SegmentedControl
        size="xs"
        aria-label="Period"
        data={Object.entries(periods).map(([value, { label }]) => ({ value, label }))}
        value={isCustom ? '' : (search.period ?? 'week')}
        onChange={(period) => change({ period: period as PeriodName, from: undefined, to: undefined })}
      />
      <CustomPeriod
        key={`${range.start}-${range.end}`}
        isChosen={isCustom}
        range={range}
        onChoose={(chosen) => change({ ...chosen, period: undefined })}
      />
    </Group>
  )
}

interface CustomPeriodProps {
  isChosen: boolean
  range: Range
  onChoose: (chosen: { from: string; to: string }) => void
}

const maxDays = 365

function CustomPeriod({ isChosen, range, onChoose }: CustomPeriodProps) {
  const [isOpen, setOpen] = useState(false)
  const [from, setFrom] = useState(formatLocalInput(new Date(range.start).toISOString()))
  const [to, setTo] = useState(formatLocalInput(new Date(range.end).toISOString()))
  const days = (Date.parse(to) - Date.parse(from)) / 86_400_000
  const isValid = days > 0 && days <= maxDays
  const choose = () => {
    setOpen(false)
    onChoose({ from: new Date(from).toISOString(), to: new Date(to).toISOString() })
  }
  return (
    <Popover opened={isOpen} onChange={setOpen} trapFocus returnFocus withArrow shadow="md">
      <Popover.Target>
        <Button size="xs" variant={isChosen ? 'light' : 'default'} onClick={() => setOpen(!isOpen)}>
          Custom
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label="Custom period">
        <form
          onSubmit={(event) => {
            event.preventDefault()
            if (isValid) choose()
          }}
        >
          <Stack gap="xs">
            <TextInput
              type="datetime-local"
              label="From"
              value={from}
              onChange={(event) => setFrom(event.currentTarget.value)}
            />
            <TextInput
              type="datetime-local"
              label="To"
              value={to}
              onChange={(event) => setTo(event.currentTarget.value)}
              error={isValid ? null : `Must be later than the start, by at most ${maxDays} days.`}
            />
            <Text size="xs" c="dimmed">
              In your time zone.
            </Text>
            <Button type="submit" size="xs" disabled={!isValid}>
              Show
            </Button>
          </Stack>
        </form>
      </Popover.Dropdown>
    </Popover>
  )
}
