// An assembly that is loaded into collectible contexts. First stands first, because a reader that takes the
// wrong module for an instantiation finds it in place of what it looks for.
namespace Plugin;

public class First { public string Trap = "the plugin's first class"; public object Other; }
public class Main { public int Id; public string Name; }
public struct Val { public int A; public string B; }
public enum Level { Low, High = 7 }
public class Gen<T> { public T Value; public class Inner { public T Deep; } }
public class Derived : Main { public Level Level; }
