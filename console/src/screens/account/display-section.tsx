import { SegmentedControl, Stack, Text, useMantineColorScheme } from '@mantine/core'
import { Panel } from '../../components/panel.tsx'
import { isDensity, useDensity } from '../../theme/density.ts'

const schemes = [
  { value: 'auto', label: 'System' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
]

const densities = [
  { value: 'compact', label: 'Compact' },
  { value: 'standard', label: 'Standard' },
  { value: 'comfortable', label: 'Comfortable' },
]

/** How the console looks in this browser. */
export function DisplaySection() {
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const [density, setDensity] = useDensity()
  return (
    <Panel title="Display" description="Applies to this browser.">
      <Choice
        label="Color scheme"
        data={schemes}
        value={colorScheme}
        onChange={(value) => setColorScheme(value as typeof colorScheme)}
      />
      <Choice
        label="Density"
        data={densities}
        value={density}
        onChange={(value) => isDensity(value) && setDensity(value)}
      />
    </Panel>
  )
}

interface ChoiceProps {
  label: string
  data: { value: string; label: string }[]
  value: string
  onChange: (value: string) => void
}

function Choice({ label, ...control }: ChoiceProps) {
  return (
    <Stack gap={4} align="flex-start">
      <Text size="sm" fw={500}>
        {label}
      </Text>
      <SegmentedControl size="xs" aria-label={label} {...control} />
    </Stack>
  )
}
