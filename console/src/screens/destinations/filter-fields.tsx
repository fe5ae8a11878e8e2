import { Button, Group, NativeSelect, Paper, Stack, Switch, Text, TextInput } from '@mantine/core'
import { randomId } from '@mantine/hooks'
import {
  type FilterField,
  type FilterGroupDraft,
  type FilterLogic,
  type FilterOperator,
  type FilterRuleDraft,
  filterFields,
  filterOperators,
} from './filter-draft.ts'

const fieldOptions = Object.entries(filterFields).map(([value, { label }]) => ({ value, label }))
const operatorOptions = Object.entries(filterOperators).map(([value, { label }]) => ({ value, label }))
const logicOptions = [
  { value: 'and', label: 'all of these' },
  { value: 'or', label: 'any of these' },
]

/** The API takes no more. */
const maxGroups = 20
const maxRules = 50

interface FilterFieldsProps {
  groups: FilterGroupDraft[]
  isFiltering: boolean
  isDisabled: boolean
  onChange: (changes: { filterGroups?: FilterGroupDraft[]; isFiltering?: boolean }) => void
}

/** Edits the filter: requests that match every group are reported. */
export function FilterFields({ groups, isFiltering, isDisabled, onChange }: FilterFieldsProps) {
  const setGroups = (filterGroups: FilterGroupDraft[]) => onChange({ filterGroups })
  const update = (key: string, changes: Partial<FilterGroupDraft>) =>
    setGroups(groups.map((group) => (group.key === key ? { ...group, ...changes } : group)))
  return (
    <Stack gap="sm">
      <Text fw={700} size="sm">
        Filter rules
      </Text>
      <Text size="sm" c="dimmed">
        {groups.length === 0
          ? 'No rules: every request is reported.'
          : 'A request is reported if it matches every group.'}
      </Text>
      {groups.length > 0 && (
        <Switch
          label="Apply the filter rules"
          checked={isFiltering}
          disabled={isDisabled}
          onChange={(event) => onChange({ isFiltering: event.currentTarget.checked })}
        />
      )}
      {groups.map((group, index) => (
        <GroupFields
          key={group.key}
          group={group}
          number={index + 1}
          isDisabled={isDisabled}
          onChange={(changes) => update(group.key, changes)}
          onRemove={() => setGroups(groups.filter(({ key }) => key !== group.key))}
        />
      ))}
      {!isDisabled && groups.length < maxGroups && (
        <Group>
          <Button
            size="xs"
            variant="default"
            onClick={() => setGroups([...groups, { key: randomId(), logic: 'and', rules: [newRule()] }])}
          >
            {groups.length === 0 ? 'Add a filter' : 'Add a group'}
          </Button>
        </Group>
      )}
    </Stack>
  )
}

function newRule(): FilterRuleDraft {
  return { key: randomId(), field: 'model', operator: 'contains', value: '' }
}

interface GroupFieldsProps {
  group: FilterGroupDraft
  number: number
  isDisabled: boolean
  onChange: (changes: Partial<FilterGroupDraft>) => void
  onRemove: () => void
}

function GroupFields({ group, number, isDisabled, onChange, onRemove }: GroupFieldsProps) {
  const { rules, logic } = group
  const update = (key: string, changes: Partial<FilterRuleDraft>) =>
    onChange({ rules: rules.map((rule) => (rule.key === key ? { ...rule, ...changes } : rule)) })
  const remove = (key: string) => {
    const rest = rules.filter((rule) => rule.key !== key)
    if (rest.length === 0) onRemove()
    else onChange({ rules: rest })
  }
  return (
    <Paper withBorder p="sm">
      <Stack gap="xs">
        <NativeSelect
          label={`Group ${number}: a request matches`}
          data={logicOptions}
          disabled={isDisabled}
          value={logic}
          onChange={(event) => onChange({ logic: event.currentTarget.value as FilterLogic })}
        />
        {rules.map((rule, index) => (
          <RuleFields
            key={rule.key}
            rule={rule}
            name={`rule ${index + 1} of group ${number}`}
            isDisabled={isDisabled}
            onChange={(changes) => update(rule.key, changes)}
            onRemove={() => remove(rule.key)}
          />
        ))}
        {!isDisabled && rules.length < maxRules && (
          <Group>
            <Button
              size="xs"
              variant="default"
              aria-label={`Add a rule to group ${number}`}
              onClick={() => onChange({ rules: [...rules, newRule()] })}
            >
              Add a rule
            </Button>
          </Group>
        )}
      </Stack>
    </Paper>
  )
}

interface RuleFieldsProps {
  rule: FilterRuleDraft
  /** The accessible name of the rule, for screen readers that read the fields without their context. */
  name: string
  isDisabled: boolean
  onChange: (changes: Partial<FilterRuleDraft>) => void
  onRemove: () => void
}

function RuleFields({ rule, name, isDisabled, onChange, onRemove }: RuleFieldsProps) {
  return (
    <Group gap="xs">
      <NativeSelect
        aria-label={`Field of ${name}`}
        data={fieldOptions}
        disabled={isDisabled}
        value={rule.field}
        onChange={(event) => onChange({ field: event.currentTarget.value as FilterField })}
      />
      <NativeSelect
        aria-label={`Operator of ${name}`}
        data={operatorOptions}
        disabled={isDisabled}
        value={rule.operator}
        onChange={(event) => onChange({ operator: event.currentTarget.value as FilterOperator })}
      />
      {filterOperators[rule.operator].value !== 'none' && (
        <TextInput
          aria-label={`Value of ${name}`}
          style={{ flex: '1 1 140px' }}
          disabled={isDisabled}
          maxLength={1000}
          value={rule.value}
          onChange={(event) => onChange({ value: event.currentTarget.value })}
        />
      )}
      {!isDisabled && (
        <Button variant="default" aria-label={`Remove ${name}`} onClick={onRemove}>
          Remove
        </Button>
      )}
    </Group>
  )
}
