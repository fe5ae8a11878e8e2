import { Button, Checkbox, Popover, Stack } from '@mantine/core'
import { layouts } from './columns.tsx'

interface ColumnMenuProps {
  visibility: Record<string, boolean>
  onChange: (visibility: Record<string, boolean>) => void
}

export function ColumnMenu({ visibility, onChange }: ColumnMenuProps) {
  return (
    <Popover trapFocus returnFocus shadow="md" position="bottom-end">
      <Popover.Target>
        <Button size="xs" variant="default">
          Columns
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <Stack gap={6}>
          {Object.entries(layouts).map(([id, { label }]) => (
            <Checkbox
              key={id}
              size="xs"
              label={label}
              checked={visibility[id] ?? false}
              onChange={(event) => onChange({ ...visibility, [id]: event.currentTarget.checked })}
            />
          ))}
        </Stack>
      </Popover.Dropdown>
    </Popover>
  )
}
