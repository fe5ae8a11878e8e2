import { Checkbox, Group, NumberInput, Stack, Switch, Text } from '@mantine/core'
import { KeysSelect } from '../../components/key-select.tsx'
import type { DestinationDraft } from './draft.ts'
import type { Destination } from './kinds.ts'

const contentSwitches = [
  ['privacy_mode', 'Leave out prompts and replies', 'Only metadata is sent: model, tokens, times, errors.'],
  ['broadcast_generation_cost', 'Include the cost', 'What was charged, and whether with BYOK.'],
  ['broadcast_generation_identity', 'Include who sent it', 'Organization, workspace, key and member.'],
  [
    'broadcast_generation_request_context',
    'Include the context of the request',
    'Request id, endpoint, app, browser and preset.',
  ],
] as const

const regions: { value: Destination['regions'][number]; label: string }[] = [
  { value: 'global', label: 'Global' },
  { value: 'europe', label: 'Europe' },
  { value: 'us', label: 'United States' },
]

interface OptionFieldsProps {
  draft: DestinationDraft
  workspaceId: string
  isDisabled: boolean
  onChange: (changes: Partial<DestinationDraft>) => void
}

/** Edits the selection of requests, and of the parts that are sent. */
export function OptionFields({ draft, workspaceId, isDisabled, onChange }: OptionFieldsProps) {
  return (
    <Stack gap="sm">
      <Text fw={700} size="sm">
        What is sent
      </Text>
      {contentSwitches.map(([name, label, description]) => (
        <Switch
          key={name}
          label={label}
          description={description}
          disabled={isDisabled}
          checked={draft[name]}
          onChange={(event) => onChange({ [name]: event.currentTarget.checked })}
        />
      ))}
      <NumberInput
        label="Share of the requests"
        description="Requests of one session are reported together or not at all."
        suffix=" %"
        min={0.01}
        max={100}
        decimalScale={2}
        maw={260}
        disabled={isDisabled}
        value={draft.samplingPercent}
        onChange={(value) => typeof value === 'number' && onChange({ samplingPercent: value })}
      />
      <Checkbox.Group
        label="Regions"
        description="Requests that were sent to the addresses of these regions. At least one."
        value={draft.regions}
        onChange={(values) =>
          values.length > 0 &&
          onChange({ regions: regions.map(({ value }) => value).filter((value) => values.includes(value)) })
        }
      >
        <Group pt={4}>
          {regions.map(({ value, label }) => (
            <Checkbox key={value} value={value} label={label} disabled={isDisabled} />
          ))}
        </Group>
      </Checkbox.Group>
      <KeysSelect
        label="Keys"
        description="Leave empty for all requests of the workspace."
        workspaceId={workspaceId}
        disabled={isDisabled}
        value={draft.keyHashes}
        onChange={(keyHashes) => onChange({ keyHashes })}
      />
    </Stack>
  )
}
