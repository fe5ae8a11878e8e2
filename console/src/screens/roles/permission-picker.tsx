import { Checkbox, Fieldset, Group, ScrollArea, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { Permission } from '../../app/session.tsx'
import { groupPermissions } from './permission-groups.ts'

interface PermissionPickerProps<T extends Permission> {
  label: string
  description: string
  offered: T[]
  chosen: T[]
  onChange: (chosen: T[]) => void
}

/** Chooses permissions from groups that can be searched. */
export function PermissionPicker<T extends Permission>(props: PermissionPickerProps<T>) {
  const { label, description, offered, chosen, onChange } = props
  const [search, setSearch] = useState('')
  const groups = groupPermissions(offered, search)
  const visible = new Set<Permission>(groups.flatMap(({ permissions }) => permissions))
  return (
    <Fieldset legend={`${label} (${chosen.length} chosen)`}>
      <Stack gap="xs">
        <Text size="sm" c="dimmed">
          {description}
        </Text>
        {offered.length > 10 && (
          <TextInput
            aria-label={`Search ${label.toLowerCase()}`}
            placeholder="Search, such as keys or :read"
            value={search}
            onChange={(event) => setSearch(event.currentTarget.value)}
          />
        )}
        <ScrollArea.Autosize mah={260} viewportProps={{ tabIndex: 0, 'aria-label': label }}>
          <Stack gap={8}>
            {groups.map((group) => (
              <Group key={group.label} gap="md">
                <Text size="sm" w={190}>
                  {group.label}
                </Text>
                {offered
                  .filter((permission) => visible.has(permission) && group.permissions.includes(permission))
                  .map((permission) => (
                    <Checkbox
                      key={permission}
                      size="xs"
                      label={permission}
                      checked={chosen.includes(permission)}
                      onChange={(event) =>
                        onChange(
                          event.currentTarget.checked
                            ? [...chosen, permission]
                            : chosen.filter((other) => other !== permission),
                        )
                      }
                    />
                  ))}
              </Group>
            ))}
            {groups.length === 0 && <Text size="sm">No permission matches.</Text>}
          </Stack>
        </ScrollArea.Autosize>
      </Stack>
    </Fieldset>
  )
}
