/** The address of a file of the folder, without its extension. The index of a folder has the address of the folder. */
export function slugOf(path: string): string {
  return path.replace(/(?:^|\/)README\.md$|\.md$/, '')
}

/** The address of a page, relative to that of the server. */
export function addressOf(slug: string, anchor = ''): string {
  return `docs${slug && `/${slug}`}${anchor && `#${anchor}`}`
}
