import { Button, Group, Menu, Text, TextInput } from '@mantine/core'
import { useLocalStorage } from '@mantine/hooks'
import { useState } from 'react'
import { type RequestSearch, readSearch } from './search.ts'

interface SavedView {
  name: string
  search: RequestSearch
}

const maxViews = 50

/** Filters with a name, in this browser only. */
export function SavedViews({
  search,
  onOpen,
}: {
  search: RequestSearch
  onOpen: (search: RequestSearch) => void
}) {
  const [views, setViews] = useLocalStorage<SavedView[]>({ key: 'headgate-request-views', defaultValue: [] })
  const [name, setName] = useState('')
  const save = () => {
    const others = views.filter((view) => view.name !== name)
    setViews([...others, { name, search }].slice(-maxViews))
    setName('')
  }
  return (
    <Menu closeOnItemClick position="bottom-end" width={280}>
      <Menu.Target>
        <Button size="xs" variant="default">
          Views
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {views.map((view) => (
          <Group key={view.name} gap={0} wrap="nowrap">
            <Menu.Item onClick={() => onOpen(readSearch({ ...view.search }))}>{view.name}</Menu.Item>
            <Menu.Item
              w="auto"
              c="red"
              aria-label={`Remove the view ${view.name}`}
              onClick={() => setViews(views.filter((other) => other !== view))}
            >
              ×
            </Menu.Item>
          </Group>
        ))}
        <form
          onSubmit={(event) => {
            event.preventDefault()
            if (name.trim() !== '') save()
          }}
        >
          <TextInput
            size="xs"
            p="xs"
            label="Save these filters as"
            maxLength={60}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
            onKeyDown={(event) => event.stopPropagation()}
          />
          <Button size="xs" mx="xs" type="submit" disabled={name.trim() === ''}>
            Save
          </Button>
        </form>
        <Text size="xs" c="dimmed" p="xs">
          Views are stored in this browser only. To share one, copy the address.
        </Text>
      </Menu.Dropdown>
    </Menu>
  )
}
