import {
  Button,
  Group,
  Pill,
  Popover,
  SegmentedControl,
  Select,
  Stack,
  Switch,
  Text,
  TextInput,
} from '@mantine/core'
import { useState } from 'react'
import { formatLocalInput } from '../../format/local-input.ts'
import { dimensionNames, dimensionOf, filterDimensions, filterNames } from './dimensions.ts'
import { type ActivitySearch, isLongRange, type PeriodName, periods, type Range } from './search.ts'
import type { View } from './view.ts'

/** The period, the grouping and the comparison. */
export function Controls({ view }: { view: View }) {
  const { search, change } = view
  return (
    <Group gap="sm" align="flex-end">
      <PeriodControl view={view} />
      <Select
        label="Group by"
        size="xs"
        w={150}
        allowDeselect={false}
        data={[
          ...dimensionNames.map((name) => ({
            value: name,
            label: dimensionOf(name).label,
            disabled: dimensionOf(name).isShort === true && isLongRange(view.range),
          })),
          { value: 'none', label: 'Nothing' },
        ]}
        value={view.group}
        onChange={(group) => change({ group: (group ?? undefined) as ActivitySearch['group'] })}
      />
      <SegmentedControl
        size="xs"
        aria-label="Kind of chart"
        data={[
          { value: 'bars', label: 'Bars', disabled: !view.metric.isAdditive },
          { value: 'lines', label: 'Lines' },
        ]}
        value={view.chart}
        onChange={(chart) => change({ chart: chart as ActivitySearch['chart'] })}
      />
      <Switch
        size="sm"
        label="Compare with the period before"
        checked={search.compare ?? false}
        onChange={(event) => change({ compare: event.currentTarget.checked || undefined })}
      />
    </Group>
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

/** The filters, which can be removed one by one. */
export function ActiveFilters({ view: { filters, change } }: { view: View }) {
  const active = filterNames.flatMap((name) => {
    const value = filters[name]
    return value === undefined ? [] : [{ name, value }]
  })
  if (active.length === 0) return null
  return (
    <Group gap="xs">
      <Text size="sm" c="dimmed">
        Only
      </Text>
      {active.map(({ name, value }) => {
        const { label } = dimensionOf(filterDimensions[name])
        return (
          <Pill
            key={name}
            withRemoveButton
            maw={320}
            removeButtonProps={{
              'aria-label': `Remove the filter ${label}`,
              'aria-hidden': false,
              tabIndex: 0,
            }}
            onRemove={() => change({ [name]: undefined })}
          >
            {label}: {value}
          </Pill>
        )
      })}
    </Group>
  )
}
