"""What the server says to people, in Simplified Chinese: by the English pattern, with the same facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

CHINESE: Final[Mapping[str, str]] = {
    # engines
    "{problem}. {without}": "{problem}。{without}",
    "cannot start {program!r}: {reason}": "无法启动 {program!r}：{reason}",
    "{name} ended unexpectedly. {without}": "{name} 意外结束。{without}",
    "{name} ended unexpectedly and is started again in {wait_s:.1f} s. {without}": (
        "{name} 意外结束，将在 {wait_s:.1f} 秒后重新启动。{without}"
    ),
    "Meanwhile there are no new diagnostics.": "在此期间没有新的诊断。",
    "Meanwhile completions come from the index and the open text.": "在此期间补全来自索引和打开的文本。",
    "Meanwhile names come from the index and the open text.": "在此期间名称来自索引和打开的文本。",
    "{engine} runs in trusted workspaces only (setting headway.python.engines).": (
        "{engine} 仅在受信任的工作区中运行（设置 headway.python.engines）。"
    ),
    (
        "{engine} is not installed, neither in the workspace's environment nor in the search path: install it, or take "
        "it out of the setting headway.python.engines."
    ): ("{engine} 未安装，工作区环境和搜索路径中都没有：请安装它，或将其从设置 headway.python.engines 中移除。"),
    "{problem}. Meanwhile completions come from the index and the open text, and references cannot be found.": (
        "{problem}。在此期间补全来自索引和打开的文本，且无法查找引用。"
    ),
    "Meanwhile references cannot be found.": "在此期间无法查找引用。",
    "ty is not installed beside Headway: completions know the open text only.": (
        "Headway 旁没有安装 ty：补全只了解打开的文本。"
    ),
    (
        "ruff gives no answer ({document} for {limit_s:g} s): there are no new diagnostics. Look whether a "
        "configuration file holds it up that cannot be read, or restart."
    ): (
        "ruff 没有响应（{document}，已 {limit_s:g} 秒）：没有新的诊断。请检查是否有无法读取的配置文件阻塞了它，"
        "或重新启动。"
    ),
    "ruff is not installed beside Headway: there are no diagnostics.": "Headway 旁没有安装 ruff：没有诊断。",
    "{count:,} further findings in this file are not shown.": "此文件中另有 {count:,} 个问题未显示。",
    # what is told by name
    "By name, from this text: no engine can tell more.": "按名称，来自此文本：没有引擎能提供更多信息。",
    "By name, from the index: no engine can tell more.": "按名称，来自索引：没有引擎能提供更多信息。",
    "{count} more of this name": "另有 {count} 个同名定义",
    # the workspace's Python
    "The Python interpreter {path} {fault}": "Python 解释器 {path} {fault}",
    "does not exist": "不存在",
    "is a link to {target}, which does not exist": "是指向 {target} 的链接，但该目标不存在",
    "is a folder without a Python in it": "是一个没有 Python 的文件夹",
    "is a file that cannot be run": "是一个无法运行的文件",
    "is no absolute path, and no folder is open that it could lie in": "不是绝对路径，也没有打开它可能所在的文件夹",
    "is Python {version}; {oldest} or newer is needed": "是 Python {version}；需要 {oldest} 或更新版本",
    "has no packages beside it, and starts no Python that has": "旁边没有软件包，它启动的 Python 也没有",
    (
        "{problem}. Choose another one (setting headway.python.interpreter, or the Python extension's choice), or "
        "mend it. Meanwhile completion knows the packages of {prefix}."
    ): (
        "{problem}。请选择另一个（设置 headway.python.interpreter，或 Python 扩展中的选择），或修复它。"
        "在此期间补全了解 {prefix} 中的软件包。"
    ),
    # the index
    "The index could not be opened; the log says why. Clear the cache, or restart.": (
        "无法打开索引，原因见日志。请清除缓存或重新启动。"
    ),
    "{folder} could not be listed; the log says why. Index it again, or restart.": (
        "无法列出 {folder} 中的文件，原因见日志。请重新建立索引或重新启动。"
    ),
    "The index of {folder} keeps breaking ({reason}) and is off. When that is mended, clear the cache or restart.": (
        "{folder} 的索引反复损坏（{reason}），已关闭。问题解决后，请清除缓存或重新启动。"
    ),
    "Another program holds the lock of the index of {folder} ({reason}). Indexing goes on as soon as it lets go.": (
        "另一个程序锁定了 {folder} 的索引（{reason}）。锁定解除后索引会继续。"
    ),
    "another program holds its lock": "另一个程序锁定了它",
    (
        "The index cannot be kept in {folder} ({reason}). It is in a temporary folder and will be made anew at the "
        "next start. Make room there, make it writable, or choose another cache directory."
    ): (
        "索引无法保存在 {folder} 中（{reason}）。它现在位于临时文件夹，下次启动时会重新建立。"
        "请在该处腾出空间、使其可写，或选择其他缓存目录。"
    ),
    (
        "There is no index: neither {folder} ({reason}) nor a temporary folder can be written. Make room in one of "
        "them, or make it writable, and restart."
    ): "没有索引：{folder}（{reason}）和临时文件夹都无法写入。请在其中之一腾出空间或使其可写，然后重新启动。",
    # settings, history
    "Settings that Headway does not take: {problems}": "Headway 不接受的设置：{problems}",
    "History of jobs: {problem}": "任务历史：{problem}",
    # jobs and their progress
    "Index {folders}": "为 {folders} 建立索引",
    "Make {folders} searchable by meaning": "使 {folders} 可按含义搜索",
    (
        'Search by meaning is off: headway.embeddings.url is "local", and headway[semantic] is not installed '
        "beside the server. Install it, or name an endpoint."
    ): (
        "按含义搜索已关闭：headway.embeddings.url 为 “local”，但服务器旁未安装 headway[semantic]。"
        "请安装它，或指定一个端点。"
    ),
    "Search by meaning is off: headway.embeddings.url is no address ({problem}).": (
        "按含义搜索已关闭：headway.embeddings.url 不是地址（{problem}）。"
    ),
    (
        "Search by meaning waits for {server} ({reason}); names and words are searched as ever. Look at the "
        "endpoint and at the settings headway.embeddings; it is asked again by itself."
    ): (
        "按含义搜索正在等待 {server}（{reason}）；名称和词语仍可照常搜索。"
        "请检查该端点和 headway.embeddings 设置；会自动重试。"
    ),
    "nothing: no folder is open, or the index is off": "（无：没有打开文件夹，或索引已关闭）",
    "Analyze workspace": "分析工作区",
    "Run tests": "运行测试",
    "Find tests": "发现测试",
    "{done:,} of {total:,}": "{done:,} / {total:,}",
    "done": "完成",
    "failed": "失败",
    "cancelled": "已取消",
    "the server ends": "服务器正在结束",
    # alerts
    "over: ": "已恢复：",
    "one in twenty {where} tasks takes {value:.1f} s or longer (limit {threshold:g} s)": (
        "每二十个 {where} 任务中有一个需要 {value:.1f} 秒或更久（上限 {threshold:g} 秒）"
    ),
    "one in a hundred {where} tasks takes {value:.1f} s or longer (limit {threshold:g} s)": (
        "每一百个 {where} 任务中有一个需要 {value:.1f} 秒或更久（上限 {threshold:g} 秒）"
    ),
    "{value:.0f} {where} tasks wait (limit {threshold:g})": "{value:.0f} 个 {where} 任务在等待（上限 {threshold:g}）",
    "a {where} task has waited for {value:.0f} s (limit {threshold:g} s)": (
        "一个 {where} 任务已等待 {value:.0f} 秒（上限 {threshold:g} 秒）"
    ),
    "other programs use the processors to {value:.0%} (limit {threshold:.0%}); background work waits": (
        "其他程序的处理器使用率 {value:.0%}（上限 {threshold:.0%}）；后台任务等待"
    ),
    "the memory is used to {value:.0%} (limit {threshold:.0%}); close programs or lower scheduler.memoryMb": (
        "内存使用率 {value:.0%}（上限 {threshold:.0%}）；请关闭其他程序或调低 scheduler.memoryMb"
    ),
    "a GPU is used to {value:.0%} (limit {threshold:.0%})": "一块 GPU 的使用率 {value:.0%}（上限 {threshold:.0%}）",
    "{value:.0%} of the {where} tasks of the last minute failed (limit {threshold:.0%})": (
        "最近一分钟的 {where} 任务中有 {value:.0%} 失败（上限 {threshold:.0%}）"
    ),
    "{value:.0%} of the {where} attempts of the last minute ran out of time (limit {threshold:.0%})": (
        "最近一分钟的 {where} 尝试中有 {value:.0%} 超时（上限 {threshold:.0%}）"
    ),
}
