/** The categories of apps, and their subcategories. */
export const appCategories = {
  coding: ['cli-agent', 'ide-extension', 'cloud-agent', 'programming-app', 'native-app-builder'],
  creative: ['creative-writing', 'video-gen', 'image-gen', 'audio-gen'],
  productivity: ['writing-assistant', 'general-chat', 'personal-agent', 'legal'],
  entertainment: ['roleplay', 'game'],
} as const

export type AppCategory = keyof typeof appCategories
export type AppSubcategory = (typeof appCategories)[AppCategory][number]

export const appCategoryNames = Object.keys(appCategories) as [AppCategory, ...AppCategory[]]
export const appSubcategories = Object.values(appCategories).flat() as [AppSubcategory, ...AppSubcategory[]]

export function appCategoryOf(subcategory: AppSubcategory): AppCategory | undefined {
  return appCategoryNames.find((name) => appCategories[name].some((other) => other === subcategory))
}
